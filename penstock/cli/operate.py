"""What somebody changes from a terminal: written to `app.audit` like what is done in the dashboard, and as far as it is
about many jobs an operation like those, which goes on in the background when nobody waits for it any more."""

import getpass
import os
import socket
import time
from typing import Any, Unpack

from penstock.app import Penstock
from penstock.cli.output import ask
from penstock.cli.progress import bar
from penstock.engine import commands
from penstock.engine.commands import Action, Operation
from penstock.errors import InvalidInput, PenstockError
from penstock.jobs import Filter
from penstock.logs import counted
from penstock.operations import Operator

LOOK_EVERY = 0.2
"""Seconds between two looks at an operation that somebody else is at."""

_DOING = {
    "retry": "retrying", "cancel": "cancelling", "purge": "purging", "move": "moving", "set_priority": "changing",
}  # fmt: skip


def operator(app: Penstock) -> Operator:
    """Whoever is logged in here."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        user = str(os.getuid())
    return app.operator(f"{user}@{socket.gethostname()}")


def agree(app: Penstock, action: Action, question: str, *, yes: bool, **filter: Unpack[Filter]) -> None:
    """Says how many it is about, and asks; `question` has a place for that. About none there is nothing to ask."""
    if not yes:
        seen = app.operations.preview(action, **filter)
        if seen.exact and not seen.jobs:
            raise InvalidInput("filter", "no such job fits; `penstock jobs list` with it shows which there are")
        many = counted(seen.jobs, "job") if seen.exact else f"at least {counted(seen.jobs, 'job')}"
        ask(question.format(many))


def operate(app: Penstock, action: Action, options: dict[str, Any], json: bool, **filter: Unpack[Filter]) -> Operation:
    """Goes on with it here, chunk by chunk, beside any worker or server that does so too. Ctrl-C ends it for all."""
    who = operator(app)
    operation = who.change(action, options, **filter)
    total = operation.total if operation.total_is_exact else None
    with bar(_DOING[action], total, json=json) as tell:
        try:
            tell(operation.done)
            while not operation.finished:
                if not app.engine.run(commands.ContinueOperation()):
                    time.sleep(LOOK_EVERY)
                found = app.operations.get(operation.id)
                if found is None:
                    break
                operation = found
                tell(operation.done)
        except KeyboardInterrupt:
            who.cancel_operation(operation.id)
            raise
    if operation.state == "failed":
        raise PenstockError(f"it stopped after {counted(operation.done, 'job')}: {operation.error}; run it again")
    return operation
