"""Looks, as statements: jobs as they are shown, pages of them, and tables that are read as they are."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.engine import commands as c
from penstock.engine.commands.command import Command
from penstock.engine.postgres.statement import Statement, as_parameter, first, scalars, selecting_of, to_json
from penstock.job import Job

_SCHEDULE = "name, cron, kind, args, tz, catch_up, options, source, paused, last_tick, next_tick, last_job, created_at"


def _reading(text: str, *names: str) -> Callable[[Any], Statement[Any]]:
    """A plain select. In the text every %s is one of these fields, in order."""

    def by_hand(command: Command[Any]) -> Statement[Any]:
        query, read = selecting_of(f"({text}) as these", type(command))
        return Statement(query, [as_parameter(getattr(command, name)) for name in names], read, repeatable=True)

    return by_hand


class CalledFunction(NamedTuple):
    """A function of another name, or columns that are not its own."""

    function: str
    columns: str = "*"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"coalesce({name}, '{_INSTEAD[name]}') as {name}" if name in _INSTEAD else name for name in names)


_LOOKED_UP = ("error", "artifacts", "parked_reason", "errors")
"""Of a job that is seen: not by everybody, or not in a list."""
_INSTEAD = {"progress": "{}", "errors": "[]", "options": "{}"}
"""Of null: those who read them want no None."""
_JOB = _names(field.name for field in dataclasses.fields(Job))
_SEEN = _names(name for name in c.SeenJob.__struct_fields__ if name not in _LOOKED_UP)
_SHOWN = "case when state in ('failed', 'cancelled') then penstock.shown(errors) end as error"
_ARTIFACTS = "penstock.artifacts_shown(id, rollup is not null) as artifacts"

CALLED = {
    c.GetJob: CalledFunction("get_job", _JOB),
    c.ListJobs: CalledFunction("list_jobs", _JOB),
    c.SeeJob: CalledFunction("get_job", f"{_SEEN}, {_SHOWN}, {_ARTIFACTS}, parked_reason"),
    c.SeeWholeJob: CalledFunction("get_job", f"{_SEEN}, {_SHOWN}, {_ARTIFACTS}, parked_reason, errors"),
    c.SeeMyJob: CalledFunction("get_my_job", f"{_SEEN}, error, {_ARTIFACTS}"),
    c.SeeJobs: CalledFunction("list_jobs", f"{_SEEN}, {_SHOWN}, parked_reason"),
    c.SeeMyJobs: CalledFunction("list_my_jobs", f"{_SEEN}, error"),
    c.TakeLost: CalledFunction("take_lost", "job, queue, job->>'flow_failed' as flow_failed"),
}


def _searching(columns: str) -> Callable[[Any], Statement[Any]]:
    """Which jobs is found out first, and only these are read whole."""
    text = f"""select coalesce((
                     select pg_catalog.json_agg(j order by j.id desc)
                       from (select {columns} from penstock.list_jobs(
                               p_filter => pg_catalog.jsonb_build_object('ids', found.ids),
                               p_limit => pg_catalog.cardinality(found.ids))) as j), '[]') as jobs,
                   found.next, found.back_to as searched_back_to
              from penstock.search_jobs(p_filter => %s, p_before => %s, p_limit => %s) as found"""  # noqa: S608 - of our own words

    def by_hand(command: c.SearchJobs | c.SearchSeenJobs) -> Statement[Any]:
        query, read = selecting_of(f"({text}) as these", type(command))
        return Statement(query, [to_json(command.filter), command.before, command.limit], read, repeatable=True)

    return by_hand


_STORED = "select * from penstock.artifacts where {} = any(%s::uuid[]) and state = 'stored' order by job, id"

LOOKS: dict[type[Command[Any]], Callable[[Any], Statement[Any]]] = {
    c.CountWorkers: lambda _: Statement(
        "select pg_catalog.count(*) from penstock.leases_now where expires_at > penstock.clock()",
        [],
        first,
        repeatable=True,
    ),
    c.KnownKinds: lambda _: Statement(
        """select kind
             from (select kind from penstock.kinds
                   union select pg_catalog.unnest(declared_with) from penstock.kinds
                   union select pg_catalog.unnest(kinds) from penstock.leases_now
                   union select name from penstock.usage_sums where day = '-infinity' and by = 'ever'
                   union select kind from penstock.usage_log) as known
            where not exists (select from penstock.leases_now where kinds is null and expires_at > penstock.clock())
            order by kind""",
        [],
        scalars,
        repeatable=True,
    ),
    c.SearchJobs: _searching(_JOB),
    c.SearchSeenJobs: _searching(f"{_SEEN}, {_SHOWN}, parked_reason"),
    c.GetOperation: _reading("select * from penstock.operations where id = %s", "id"),
    c.ListOperations: _reading(
        """select * from penstock.operations where %s::uuid is null or id < %s::uuid order by id desc limit %s""",
        "before",
        "before",
        "limit",
    ),
    c.IsOperating: lambda _: Statement(
        "select exists (select from penstock.operations where state = 'running')", [], first, repeatable=True
    ),
    c.ListAudit: _reading(
        """select number, at, who, action, target, details, jobs from penstock.audit
            where %s::bigint is null or number < %s::bigint order by number desc limit %s""",
        "before",
        "before",
        "limit",
    ),
    c.GetChannels: _reading("select wake, hand, cancel, job from penstock.channels"),
    # row level security decides for users
    c.ArtifactsById: _reading(_STORED.format("id"), "ids"),
    c.ArtifactAt: _reading("select * from penstock.artifacts where path = %s and state = 'stored'", "path"),
    c.ArtifactsOfJobs: _reading(_STORED.format("job"), "jobs"),
    c.Totals: _reading(
        """select kind, pg_catalog.sum(runs)::bigint as runs, pg_catalog.sum(seconds) as seconds,
                  pg_catalog.sum(failures)::bigint as failures,
                  pg_catalog.sum(bytes)::bigint as bytes
             from (select name as kind, runs, seconds, failures, bytes from penstock.usage_sums
                    where day = '-infinity' and by = 'ever'
                   union all
                   select kind, runs, seconds, failures, bytes from penstock.usage_log) as counted
            group by kind"""
    ),
    c.ListUsage: _reading(
        """select day, org, kind, runs, seconds, failures, bytes from penstock.usage_so_far
            where (%s::text is null or org = %s) and (%s::date is null or day >= %s::date)
            order by day, org, kind""",
        "org",
        "org",
        "since",
        "since",
    ),
    c.ListSchedules: _reading(
        f"""select penstock.clock() as now, coalesce((
              select pg_catalog.json_agg(s order by s.name)
                from (select {_SCHEDULE}
                        from penstock.schedules
                       where (%s::text[] is null or name = any(%s::text[])) and name > %s
                       order by name
                       limit %s) as s
            ), '[]') as schedules""",  # noqa: S608 - of our own words
        "names",
        "names",
        "after",
        "most",
    ),
    # the time is one value: compared with clock(), which is volatile, every row would ask for it
    c.DueSchedules: _reading(
        f"""select now, coalesce((
              select pg_catalog.json_agg(s order by s.name)
                from (select {_SCHEDULE}
                        from penstock.schedules
                       where (name = any(%s::text[]) or %s and source = 'database')
                         and not paused and (next_tick is null or next_tick <= now) and name > %s
                       order by name
                       limit %s) as s
            ), '[]') as schedules, (
              select pg_catalog.min(next_tick)
                from penstock.schedules
               where (name = any(%s::text[]) or %s and source = 'database') and not paused and next_tick > now
            ) as next
            from (select penstock.clock() as now) as clock""",  # noqa: S608 - of our own words
        "names",
        "database",
        "after",
        "most",
        "names",
        "database",
    ),
}
