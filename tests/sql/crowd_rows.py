"""The jobs of a crowd, as statements that insert them."""

from collections.abc import Iterator
from datetime import datetime, timedelta

NOON = "2025-01-31 12:00:00+00"
"""The engine's time in these databases: what is due then is due whenever the test runs."""

DAYS = 30
"""Over so many days before noon the jobs were enqueued."""

_START = int((datetime.fromisoformat(NOON) - timedelta(days=DAYS)).timestamp() * 1000)
_BUSY, _KEYED, _RUNNING, _COUNTED, _FLOWS, _CHILDREN, _LATER, _FINISHED, _GONE, _LARGE = range(1, 11)


def rows(ready: int, scheduled: int, finished: int) -> Iterator[str]:
    yield f"""
        update penstock.settings set partitions_ahead = {DAYS + 1};
        select set_config('penstock_clock.now', (timestamptz '{NOON}' - interval '{DAYS} days')::text, true);
        select penstock.add_partitions();
        update penstock.settings set partitions_ahead = 3;
        insert into penstock.leases (id, worker, length, started_at) overriding system value
        select i, 'worker ' || i, '1 day', '{NOON}'
          from generate_series(1, 20) as i;
        insert into penstock.heartbeats (lease, expires_at)
        select id, started_at + length from penstock.leases;
        select setval(pg_get_serial_sequence('penstock.leases', 'id'), 20)"""
    yield _live(
        "ready", "busy", ready, _BUSY,
        owner=_owner(ready),
        unique_key="case when i % 10 = 1 then 'key ' || i end",
        priority="case when i % 100 = 0 then -5 else 0 end",
    )  # fmt: skip
    # one tenant's backlog lies before all the others'
    keyed = ready // 20
    limit_key = f"case when i <= {keyed} * 0.9 then 'whale' else 'tenant ' || i % 50 end"
    yield _live("ready", "keyed", keyed, _KEYED, limit_key=limit_key)
    large = ready // 20
    yield _live("ready", "large", large, _LARGE, args="null")
    yield _payloads("i", _id("i", large, _LARGE), large)
    claimed = {"lease": "1 + i % 20", "claims": "1", "attempt": "1"}
    yield _live("running", "busy", ready // 50, _RUNNING, **claimed)
    limit_key = "'tenant ' || i % 5000"
    yield _live("running", "keyed", ready // 50, _COUNTED, **claimed, counted="true", limit_key=limit_key)
    flows = ready // 100
    yield _live("blocked", "flows", flows, _FLOWS, waiting_on="2", rollup="'{}'")
    yield _live("ready", "flows", 2 * flows, _CHILDREN, parent=_id("(i + 1) / 2", flows, _FLOWS))
    yield f"""
        insert into penstock.edges (job, waits_for)
        select {_id("i", flows, _FLOWS)}, {_id("i", 2 * flows, _CHILDREN)} from generate_series(1, {flows}) as i"""
    yield _live("scheduled", "busy", scheduled, _LATER, run_at=f"timestamptz '{NOON}' + i * interval '1 minute'")
    yield f"""
        insert into penstock.history (id, created_at, run_at, finished_at, turn, state, priority, attempt,
          max_attempts, claims, snoozes, awaited, queue, kind, owner, parent, args, error_count)
        select {id_of_finished("i", finished)}, '{NOON}', '{NOON}', '{NOON}', 0,
               case when i % 50 = 0 then 'failed' else 'succeeded' end::penstock.job_state, 0, 1,
               5, 1, 0, false, 'busy', 'crowd', {_owner(finished)},
               case when i % 20 = 0 then {_id("i", finished, _GONE)} end, case when i % 10 <> 5 then '{{}}'::jsonb end,
               case when i % 50 = 0 then 1 end
          from generate_series(1, {finished}) as i"""
    yield _payloads("i * 10 - 5", id_of_finished("i * 10 - 5", finished), finished // 10)
    yield f"""
        insert into penstock.errors (id, number, error)
        select {id_of_finished("i * 50", finished)}, 1, '{{"error": "boom"}}'
          from generate_series(1, {finished // 50}) as i"""


def id_of_finished(number: str | int, finished: int) -> str:
    """SQL for the id of a finished job, counted from 1."""
    return _id(str(number), finished, _FINISHED)


def holds_the_crowd(partition: str) -> bool:
    """Whether this partition is of those days, and not of the days when tests ran."""
    return f"_{NOON[:4]}" in partition


def _owner(jobs: int) -> str:
    """In a large crowd each has 500 of a sort: of fewer, a page is sorted as soon as read in order."""
    owners = jobs // 500 if jobs >= 100_000 else 2000
    return f"case when i % 10 = 0 then 'owner ' || i % {owners} end"


def _payloads(number: str, id: str, jobs: int) -> str:
    return f"""
        insert into penstock.payloads (id, args)
        select {id}, jsonb_build_object('n', {number}) from generate_series(1, {jobs}) as i"""


def _live(state: str, queue: str, jobs: int, sort: int, **columns: str) -> str:
    columns = {"run_at": f"timestamptz '{NOON}'"} | columns
    return f"""
        insert into penstock.jobs (id, created_at, state, queue, kind, {", ".join(columns)})
        select {_id("i", jobs, sort)}, '{NOON}', '{state}', '{queue}', 'crowd', {", ".join(columns.values())}
          from generate_series(1, {jobs}) as i"""


def _id(number: str, jobs: int, sort: int) -> str:
    """SQL for a UUIDv7: the jobs of a sort are spread evenly over the days, and numbered in the digits at the end."""
    step = DAYS * 86_400_000 // max(jobs, 1)
    millisecond = f"to_hex({_START} + ({number}) * {step}::bigint)"
    return f"('0' || {millisecond} || '700{sort:x}' || to_hex({number} + '-9223372036854775808'::bigint))::uuid"
