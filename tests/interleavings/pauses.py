"""Where sessions stop inside the engine's functions, for others to come between: by scenario."""

from pathlib import Path
from typing import NamedTuple


class Pause(NamedTuple):
    function: str
    at: str
    """This text of the function is replaced, by itself and a pause."""
    by: str


_HEARD = Pause(  # between the look at who is late and the lock on it
    "api/reclaim",
    "where expires_at < penstock.clock()))\n       for update skip locked",
    "where expires_at < penstock.clock())) and interleavings.pause()\n       for update skip locked",
)
_ENDING = Pause(  # between the job and the row that says it waits
    "history/finish",
    "  delete from penstock.waits where",
    "  perform interleavings.pause();\n  delete from penstock.waits where",
)
_FAILING = Pause("api/fail", "  loop\n", "  loop\n    perform interleavings.pause();\n")

PAUSES = {
    "a heartbeat and a reclaim at the last moment": [_HEARD],
    "a late worker a reclaim and another worker": [_HEARD],
    "a flow that is cancelled while its children fail": [_FAILING],
    "an event and a cancellation of who waits": [_ENDING],
}


def with_pauses(scenario: str, functions: Path, text: dict[str, str]) -> list[str]:
    """The functions of a scenario's pauses as they are in `text` already, else in their files, each with its pause."""
    for pause in PAUSES.get(scenario, ()):
        found = text.get(pause.function) or (functions / f"{pause.function}.sql").read_text()
        assert pause.at in found, f"{pause.function} no longer has: {pause.at}"
        text[pause.function] = found.replace(pause.at, pause.by, 1)
    return list(text.values())
