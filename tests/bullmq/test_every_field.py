"""A job keeps every field on BullMQ as well. Fields are read from the declared columns: one that is added later, and
forgotten somewhere, is missed here."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import msgspec

from penstock import NewJob, Penstock
from penstock.columns import COLUMNS
from penstock.engine import commands as c
from penstock.engine.bullmq.schedules import _About
from penstock.job import ClaimedJob, Job
from tests.app.test_every_field import FIELDS
from tests.kit.redis import fresh_redis

CALLERS = {column.name for column in COLUMNS if column.by == "caller"}
REFUSED = {"quota"}
OF_FLOWS = {"parent", "rollup"}
"""Which tests/conformance sees in flows."""
OF_ONE = {"id", "queue", "kind", "args", "run_at", "parent", "rollup", "weight", "phase"}
"""What a schedule says otherwise, or has no use for."""


def _given(*but: str) -> dict[str, Any]:
    return {name: FIELDS[name] for name in CALLERS - REFUSED - OF_FLOWS - {"id", *but}}


def _found(job: Any, names: set[str]) -> dict[str, Any]:
    found = {name: getattr(job, name) for name in names}
    for name in {"args", "options"} & names:
        if isinstance(found[name], bytes | str):
            found[name] = msgspec.json.decode(found[name])
    if found.get("run_at"):
        found["run_at"] = round(found["run_at"].timestamp())  # Redis keeps how long it is until then
    return found


def test_what_a_caller_set_is_kept_claimed_and_moved() -> None:
    looked_at = {each.name for each in fields(Job)} & CALLERS
    claimed = set(ClaimedJob.__struct_fields__) & CALLERS
    assert CALLERS - looked_at == REFUSED | {"rollup"}
    with Penstock(fresh_redis()) as app:
        soon = NewJob(**_given("run_at"))
        app.engine.enqueue([soon])
        [taken] = app.engine.run(c.Claim(app.engine.run(c.OpenLease("hands", queues=["mail"])), "mail"))
        assert _found(taken, claimed) == _found(soon, claimed)

        later = NewJob(**_given() | {"unique_key": "another", "run_at": datetime(2100, 1, 2, tzinfo=UTC)})
        app.engine.enqueue([later])
        seen = app.engine.run(c.GetJob(later.id))
        assert _found(seen, looked_at) == _found(later, looked_at)
        [held] = app.engine.mover().hold("mail", 10)
        assert _found(held.job, CALLERS) == _found(later, CALLERS)


def test_a_schedule_knows_what_a_caller_may_set_of_its_jobs() -> None:
    given = _given(*OF_ONE)
    assert set(given) == CALLERS - OF_ONE - REFUSED
    now = FIELDS["run_at"]
    about = _About("* * * * *", "paint", "UTC", {}, given, "code", "one", now)  # type: ignore[arg-type]
    assert _found(about.job("mail"), set(given)) == given
