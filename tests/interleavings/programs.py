"""What sessions do in the scenarios, in the engine's own SQL, and the ledger of what they were told."""

import json
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.interleavings.explorer import COMMIT, DIE, Program, Refused, Rows

Claim = tuple[str, int]
"""A job's id, and the number of the claim."""
Asked = Generator[str, Rows, Any]


@dataclass
class Ledger:
    """What was acknowledged: a client counts on it."""

    accepted: list[Claim] = field(default_factory=list)
    accepted_under: dict[Claim, int] = field(default_factory=dict)
    enqueued: list[str] = field(default_factory=list)
    emitted: list[str] = field(default_factory=list)


def claims(rows: Rows) -> list[Claim]:
    return [(str(id), int(number or 0)) for id, number in rows]


def claim(lease: int, queue: str = "default", limit: int = 1) -> str:
    return f"select id, claims from penstock.claim({lease}, '{queue}', {limit})"


def report(function: str, lease: int, run: Claim, *more: str) -> str:
    """A report about a run, as complete and its siblings take it."""
    id, number = run
    about = ", ".join([str(lease), f"array['{id}']::uuid[]", f"array[{number}]", *more])
    return f"select * from penstock.{function}({about})"


def accept(ledger: Ledger, lease: int, run: Claim) -> Asked:
    """Completes a run; it counts once its commit is acknowledged and it was not refused."""
    refused = yield report("complete", lease, run)
    yield COMMIT
    if refused == [("{}",)]:
        ledger.accepted.append(run)
        ledger.accepted_under[run] = lease


def works(ledger: Ledger, lease: int, queue: str = "default") -> Program:
    """A worker that claims one job and completes it."""
    try:
        taken = claims((yield claim(lease, queue)))
        yield COMMIT
        for run in taken:
            yield from accept(ledger, lease, run)
    except Refused:  # its lease is gone: what it held is others' now
        yield DIE


def takes(lease: int, queue: str = "default") -> Program:
    """A worker that claims, and is not heard of again."""
    try:
        yield claim(lease, queue)
        yield COMMIT
    except Refused:
        yield DIE


def completes(ledger: Ledger, lease: int, run: Claim) -> Program:
    """A worker that says a run has succeeded."""
    yield from accept(ledger, lease, run)


def says(*statements: str) -> Program:
    """Each in a transaction of its own, whatever comes back."""
    for statement in statements:
        try:
            yield statement
            yield COMMIT
        except Refused:
            yield DIE


def dies_saying(statement: str) -> Program:
    """A session that is killed before it commits."""
    yield statement
    yield DIE


def enqueues(ledger: Ledger, kind: str = "work", **about: Any) -> Program:
    """A client that counts on its job once the commit is acknowledged."""
    job = json.dumps([{"kind": kind, **about}])
    [(id, *_)] = yield f"select id from penstock.enqueue_jobs('{job}')"
    yield COMMIT
    ledger.enqueued.append(str(id))


def hands(ledger: Ledger, id: UUID, queue: str = "default") -> Program:
    """A client whose job may be handed to an idle worker."""
    yield f"select penstock.enqueue_plain('{id}', 'work', '{{}}', '{queue}', p_hand => true)"
    yield COMMIT
    ledger.enqueued.append(str(id))


def emits(ledger: Ledger, payload: str) -> Program:
    yield f"select penstock.emit('paid', 'order 1', '{json.dumps(payload)}')"
    yield COMMIT
    ledger.emitted.append(payload)


def twice(ledger: Ledger) -> list[str]:
    """Jobs with more than one accepted success."""
    return [id for id, times in Counter(id for id, _ in ledger.accepted).items() if times > 1]
