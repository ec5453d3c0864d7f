"""What happens by itself, now and then."""

from datetime import datetime

from penstock.engine.call import Call, first
from penstock.engine.calls.text import from_json


def promote(limit: int = 1000) -> Call[int]:
    return Call("select penstock.promote(%s)", [limit], first, repeatable=True)


def next_run_at() -> Call[datetime | None]:
    return Call("select penstock.next_run_at()", [], first, repeatable=True)


def reclaim() -> Call[int]:
    return Call("select penstock.reclaim()", [], first, repeatable=True)


def maintain() -> Call[dict[str, int] | None]:
    """One round of everything periodic; None when somebody else is at it."""
    return Call("select penstock.maintain()::text", [], lambda rows: from_json(rows[0][0]), repeatable=True)
