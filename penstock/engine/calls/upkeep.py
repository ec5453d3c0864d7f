"""What happens by itself, now and then."""

from datetime import datetime

from penstock.engine.call import Call, first
from penstock.engine.calls.text import from_json
from penstock.job import Lease


def promote(limit: int = 1000) -> Call[int]:
    return Call("select penstock.promote(%s)", [limit], first, repeatable=True)


def next_run_at() -> Call[datetime | None]:
    return Call("select penstock.next_run_at()", [], first, repeatable=True)


def reclaim(*, everywhere: bool = False) -> Call[int]:
    """Takes back the jobs of leases that ran out; `everywhere` also those whose lease is gone altogether."""
    return Call("select penstock.reclaim(%s)", [everywhere], first, repeatable=True)


def maintain() -> Call[dict[str, int] | None]:
    """One round of everything periodic; None when somebody else is at it."""
    return Call("select penstock.maintain()::text", [], lambda rows: from_json(rows[0][0]), repeatable=True)


def tend(lease: Lease) -> Call[tuple[bool, float | None]]:
    """The leading worker's round: whether the lease leads, and in how many seconds the next scheduled job is due."""
    return Call("select leads, due_in from penstock.tend(%s)", [lease], lambda rows: (rows[0][0], rows[0][1]))
