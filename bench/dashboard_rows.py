"""What a database holds that has run for a while, as statements that fill it a part at a time."""

import time
from collections.abc import Iterator

DAYS = 14
AT_ONCE = 100_000
QUEUES, KINDS, OWNERS, ORGS = 10, 30, 5_000, 200

_ID = """(lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(i % 4096), 3, '0')
          || '8' || lpad(to_hex(i::bigint * 2654435761 % 1152921504606846976), 15, '0'))::uuid"""
"""A UUIDv7 of its millisecond."""

_NOW = int(time.time() * 1000)
_HOUR = 3_600_000


def partitions() -> str:
    """Those of the days that have passed, and some workers."""
    return f"""
        update penstock.settings set partitions_ahead = {DAYS + 1};
        select set_config('penstock_clock.now', (now() - interval '{DAYS} days')::text, true);
        select penstock.add_partitions();
        update penstock.settings set partitions_ahead = 3;
        insert into penstock.leases (worker, host, pid, queues, length, started_at)
        select 'worker ' || n, 'host', n, '{{queue 0}}', '1 day', now()
          from generate_series(1, 20) as n;
        insert into penstock.heartbeats (lease, expires_at)
        select id, now() + length from penstock.leases"""


def parts(live: int, finished: int) -> Iterator[tuple[int, list[str]]]:
    """How many jobs each is of, and its statements."""
    for first in range(1, finished + 1, AT_ONCE):
        last = min(first + AT_ONCE - 1, finished)
        yield last - first + 1, [_finished(first, last, finished), _errors(first, last, finished)]
    for first in range(1, live + 1, AT_ONCE):
        last = min(first + AT_ONCE - 1, live)
        yield last - first + 1, [_live(first, last, live)]


def _numbered(first: int, last: int, jobs: int, days: float, ago: int = 0) -> str:
    """The jobs' numbers and milliseconds: spread evenly over the days until so long ago."""
    step = int(days * 86_400_000 / max(jobs, 1))
    return f"""
        (select i, {_NOW - ago} - ({jobs} - i) * {step}::bigint as ms
           from generate_series({first}, {last}) as i) as numbered"""


def _finished(first: int, last: int, jobs: int) -> str:
    return f"""
        insert into penstock.history (id, created_at, run_at, started_at, finished_at, turn, lease, state, priority,
          attempt, max_attempts, claims, snoozes, awaited, queue, kind, owner, org, args, progress, error_count)
        select {_ID}, at, at, at + interval '1 second', at + interval '2 seconds', i, 1 + i % 20,
               case when i % 100 = 0 then 'failed' when i % 1000 = 1 then 'cancelled'
                    else 'succeeded' end::penstock.job_state,
               0, 1, 5, 1, 0, false, 'queue ' || i % {QUEUES},
               case when i % 100000 = 7 then 'rare' else 'kind ' || i % {KINDS} end,
               case when i % 2 = 0 then 'owner ' || i % {OWNERS} end, case when i % 2 = 0 then 'org ' || i % {ORGS} end,
               jsonb_build_object('document', i, 'name', 'document ' || i), '{{"percent": 100, "message": "done"}}',
               case when i % 100 <= 1 and (i % 100 = 0 or i % 1000 = 1) then 1 end
          from {_numbered(first, last, jobs, DAYS - 0.05, _HOUR)},
               lateral (select to_timestamp(ms / 1000.0) as at) as made"""


def _errors(first: int, last: int, jobs: int) -> str:
    return f"""
        insert into penstock.errors (id, number, error)
        select {_ID}, 1, jsonb_build_object('error', case when i % 1000 = 1 then 'cancelled'
                 else 'could not reach host ' || i % 50 || ': timed out after ' || i % 60 || ' s' end,
                 'type', 'TimeoutError', 'traceback', repeat('File "task.py", line 7, in run ', 40), 'attempt', 1,
                 'at', to_timestamp(ms / 1000.0))
          from {_numbered(first, last, jobs, DAYS - 0.05, _HOUR)}
         where i % 100 = 0 or i % 1000 = 1"""


def _live(first: int, last: int, jobs: int) -> str:
    """Most are ready, and the newest of all jobs; what runs is among the oldest of them."""
    return f"""
        insert into penstock.jobs (id, created_at, run_at, started_at, lease, attempt, claims, state, queue, kind,
          owner, org, args)
        select {_ID}, at, case when state = 'scheduled' then now() + i * interval '1 second' else at end,
               case when state = 'running' then at end, case when state = 'running' then 1 + i % 20 end,
               (state = 'running')::int, (state = 'running')::int,
               state::penstock.job_state, 'queue ' || i % {QUEUES} / 5, 'kind ' || i % {KINDS},
               case when i % 2 = 0 then 'owner ' || i % {OWNERS} end, case when i % 2 = 0 then 'org ' || i % {ORGS} end,
               jsonb_build_object('document', i)
          from {_numbered(first, last, jobs, 0.04)},
               lateral (
                 select to_timestamp(ms / 1000.0) as at,
                        case when i <= 200 then 'running' when i % 5 = 0 then 'scheduled'
                             else 'ready' end as state) as made"""


def past() -> list[str]:
    """What workers and operators have left: statistics, depths, errors, usage and lines of the audit."""
    histogram = "array(select (random() * 50)::bigint from generate_series(1, 20))"
    figures = f"1000, 10, 20, 5, {histogram}, {histogram}, 100, 50"
    return [
        f"""
        insert into penstock.statistics
        select 60, at, queue, '', {figures}
          from generate_series(date_trunc('minute', now()) - interval '2 days', now(), interval '1 minute') as at,
               (select '' as queue union all select 'queue ' || n from generate_series(0, {QUEUES - 1}) as n) as named
        union all
        select 3600, at, queue, kind, {figures}
          from generate_series(date_trunc('hour', now()) - interval '{DAYS} days', now(), interval '1 hour') as at,
               (select '' as queue, '' as kind
                union all select 'queue ' || n, '' from generate_series(0, {QUEUES - 1}) as n
                union all select '', 'kind ' || n from generate_series(0, {KINDS - 1}) as n) as named""",
        f"""
        insert into penstock.depths
        select at, 'queue ' || n, 1000, 10, 5
          from generate_series(date_trunc('minute', now()) - interval '{DAYS} days', now(), interval '1 minute') as at,
               generate_series(0, {QUEUES - 1}) as n
         where at > now() - interval '2 days' or extract(minute from at) = 0""",
        f"""
        insert into penstock.failures
        select hour, md5(n::text)::uuid, hour, penstock.uuid7(), 10 + n, n, 'kind ' || n % {KINDS}, 'queue 0',
               'OSError',
               'could not reach <text>: attempt ' || n
          from generate_series(date_trunc('hour', now()) - interval '{DAYS} days', now(), interval '1 hour') as hour,
               generate_series(1, 100) as n""",
        f"""
        insert into penstock.usage
        select day::date, 'org ' || o, 'kind ' || k, 100, 50, 1, 1000
          from generate_series(now() - interval '{DAYS} days', now(), interval '1 day') as day,
               generate_series(0, {ORGS - 1}) as o, generate_series(0, {KINDS - 1}) as k""",
        """
        insert into penstock.usage_sums
        select coalesce(day, '-infinity'),
               case when grouping(day) = 1 then 'ever' when grouping(org) = 0 then 'org' else 'kind' end,
               coalesce(org, kind), sum(runs), sum(seconds), sum(failures), sum(bytes)
          from penstock.usage
         group by grouping sets ((day, org), (day, kind), (kind))""",
        """
        insert into penstock.audit (at, jobs, who, action, target, details)
        select now() - n * interval '1 minute', n % 50, 'ada', 'retry', n::text, '{"filter": {"queue": "queue 0"}}'
          from generate_series(1, 100000) as n""",
    ]


def flow() -> str:
    """A flow of two hundred jobs, half of them done; its root's id."""
    return f"""
        with root as (
          insert into penstock.jobs (id, created_at, run_at, state, queue, kind, waiting_on, rollup)
          select penstock.uuid7(), now(), now(), 'blocked', 'queue 0', 'flow', 100,
                 '{{"total": 200, "succeeded": 100, "failed": 0, "cancelled": 0}}'
          returning id
        ), live as (
          insert into penstock.jobs (id, created_at, run_at, state, queue, kind, parent)
          select penstock.uuid7(), now(), now(), 'ready', 'queue 0', 'kind ' || n % {KINDS}, root.id
            from root, generate_series(1, 100) as n
        ), done as (
          insert into penstock.history (id, created_at, run_at, started_at, finished_at, turn, state, priority, attempt,
            max_attempts, claims, snoozes, awaited, queue, kind, parent, args)
          select penstock.uuid7(), now(), now(), now(), now(), n, 'succeeded', 0, 1, 5, 1, 0, false, 'queue 0',
                 'kind ' || n % {KINDS}, root.id, '{{}}'
            from root, generate_series(1, 100) as n
        )
        select id from root"""
