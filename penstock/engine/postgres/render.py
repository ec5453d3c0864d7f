"""Commands as statements: each is a call of the SQL function of its name, with its fields as named arguments. Rows come
as JSON, by the names of their columns: msgspec reads one in 5 µs, where psycopg takes 100 for twenty columns, and what
a later schema adds is passed over. Hot commands, and those that any driver must be able to run, are written by hand."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from penstock.columns import SHORT
from penstock.engine import commands as c
from penstock.engine.commands.command import Command, result_of
from penstock.engine.postgres.looks import CALLED, LOOKS, CalledFunction
from penstock.engine.postgres.statement import (
    Row,
    Statement,
    array_of_claims,
    array_of_ids,
    as_parameter,
    first,
    nothing,
    scalars,
    selecting,
    selecting_of,
    to_json,
)
from penstock.job import DEFAULTS, ClaimedJob, Enqueued

R = TypeVar("R")


def render(command: Command[R]) -> Statement[R]:
    """How Postgres is told a command."""
    by_hand = _BY_HAND.get(type(command))
    if by_hand is not None:
        statement: Statement[R] = by_hand(command)
        return statement
    call = _call_of(type(command))
    return Statement(call.text, [dump(command) for dump in call.dumps], call.read, command.repeatable)


class _Call(NamedTuple):
    """What all commands of a type have in common."""

    text: str
    dumps: Sequence[Callable[[Any], object]]
    read: Callable[[Sequence[Row]], Any]


@cache
def _call_of(kind: type[Command[Any]]) -> _Call:
    called = CALLED.get(kind, CalledFunction(_snake(kind.__name__)))
    names = kind.__struct_fields__
    hints = get_type_hints(kind)
    source = f"penstock.{called.function}({', '.join(f'p_{name} => %s' for name in names)})"
    text, read = selecting(source, result_of(kind), called.columns)
    return _Call(text, [_dump(name, hints[name]) for name in names], read)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _dump(name: str, hint: Any) -> Callable[[Any], object]:
    """A field as a parameter: what is JSON as its text, everything else as it is."""
    get = attrgetter(name)
    kinds = {get_origin(part) or part for part in (hint, *get_args(hint))}
    if msgspec.Raw in kinds:
        return lambda command: bytes(get(command)).decode()
    of_json = kinds & {Mapping, dict} or (get_origin(hint) is list and not _is_scalar(get_args(hint)[0]))
    if of_json:
        return lambda command: None if (value := get(command)) is None else to_json(value)
    return lambda command: as_parameter(get(command))


def _is_scalar(kind: Any) -> bool:
    return kind in (int, float, bool, str, bytes, UUID, datetime) or kind is type(None)


# By hand: commands about several jobs, as arrays that lie side by side.


def _about(command: Any, function: str, said: str, values: object) -> Statement[Any]:
    kind: Any = type(command)
    source = f"penstock.{function}(p_lease => %s, p_ids => %s, p_claims => %s, {said})"
    text, read = selecting_of(source, kind)
    jobs = command.jobs
    params = [command.lease, array_of_ids(jobs), array_of_claims(jobs), values]
    return Statement(text, params, read, command.repeatable)


def _complete(command: c.Complete) -> Statement[Any]:
    outputs = None
    if any(job.output is not c.NULL for job in command.jobs):
        outputs = (b"[" + b",".join([bytes(job.output) for job in command.jobs]) + b"]").decode()
    return _about(command, "complete", "p_outputs => %s::text::jsonb", outputs)


def _fail(command: c.Fail) -> Statement[Any]:
    return _about(command, "fail", "p_errors => %s::text::jsonb", to_json([job.error for job in command.jobs]))


def _report_progress(command: c.ReportProgress) -> Statement[Any]:
    return _about(
        command, "report_progress", "p_progress => %s::text::jsonb", to_json([job.progress for job in command.jobs])
    )


def _snooze(command: c.Snooze) -> Statement[Any]:
    return _about(command, "snooze", "p_seconds => %s::float8[]", [float(job.seconds) for job in command.jobs])


def _park(command: c.Park) -> Statement[Any]:
    return _about(command, "park", "p_reasons => %s::text[]", [job.reason for job in command.jobs])


def _stop_cancelled(command: c.StopCancelled) -> Statement[Any]:
    return _about(command, "stop_cancelled", "p_reason => %s", command.reason)


def _release(command: c.Release) -> Statement[Any]:
    jobs = command.jobs
    return Statement(
        "select penstock.release(p_lease => %s, p_ids => %s, p_claims => %s)",
        [command.lease, array_of_ids(jobs), array_of_claims(jobs)],
        scalars,
    )


# By hand: the claim. Its commit does not wait for the disk: a claim that a crash of Postgres undoes is as good as one
# whose worker died.

_CLAIM = (
    f"select {', '.join(f'c.{name}' for name in ClaimedJob.__struct_fields__)}"  # noqa: S608 - of our own words
    " from (select pg_catalog.set_config('synchronous_commit', 'off', true) offset 0) as s,"
    " penstock.claim(p_lease => %s, p_queue => %s, p_limit => %s, p_priorities => %s::int[], p_turns => %s::bigint[],"
    " p_ids => %s::uuid[], p_kinds => %s::text[], p_owner => %s) as c"
)


def _place(job: ClaimedJob) -> tuple[int, int, UUID]:
    return -job.priority, job.turn, job.id


def _claim(command: c.Claim) -> Statement[list[ClaimedJob]]:
    params = [
        command.lease, command.queue, command.limit, as_parameter(command.priorities), as_parameter(command.turns),
        as_parameter(command.ids), as_parameter(command.kinds), command.owner,
    ]  # fmt: skip
    return Statement(_CLAIM, params, _read_claimed, binary=True)


def _read_claimed(rows: Sequence[Row]) -> list[ClaimedJob]:
    jobs = [ClaimedJob(*row) for row in rows]
    # they come by id, which is the order already unless priorities or turns are mixed
    if len({(job.priority, job.turn) for job in jobs}) > 1:
        jobs.sort(key=_place)
    return jobs


# By hand: enqueueing, as text on both ways.


def _enqueue_jobs(command: c.EnqueueJobs) -> Statement[list[Enqueued]]:
    return Statement(
        "select id::text, created from penstock.enqueue_jobs(p_jobs => %s::text::jsonb)",
        [to_json([job.to_json() for job in command.jobs])],
        lambda rows: [Enqueued(UUID(id), created) for id, created in rows],
    )


_CASTS = {"text": "", "int": "::text::int", "timestamptz": "::text::timestamptz", "jsonb": "::text::jsonb"}
_FIELDS = {"delay": "::text::float8"} | {
    column.name: _CASTS[column.type] for column in SHORT if column.name not in ("id", "kind", "queue", "args")
}
_choices = attrgetter(*_FIELDS)
_NO_CHOICE = tuple(DEFAULTS[name] for name in _FIELDS)


def _enqueue_plain(command: c.EnqueuePlain) -> Statement[None]:
    """Only what differs from the defaults is sent: each parameter costs psycopg about a microsecond."""
    job = command.job
    params = [command.id, job.kind, command.args.decode(), job.queue]
    choices = _choices(job)
    if choices == _NO_CHOICE:
        return Statement(_enqueueing((), command.hand), params, nothing)
    given = [(name, value) for name, value in zip(_FIELDS, choices, strict=True) if value != DEFAULTS[name]]
    names = tuple(name for name, _ in given)
    return Statement(_enqueueing(names, command.hand), [*params, *(_as_text(value) for _, value in given)], nothing)


@cache
def _enqueueing(names: tuple[str, ...], hand: bool) -> str:
    extras = [f", p_{name} => %s{_FIELDS[name]}" for name in names] + [", p_hand => true"] * hand
    return (
        "select penstock.enqueue_plain(p_id => %s::text::uuid, p_kind => %s, p_args => %s::text::jsonb, p_queue => %s"
        f"{''.join(extras)})::text"
    )


def _as_text(value: object) -> str:
    if isinstance(value, Mapping):
        return to_json(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _prepare_copy(command: c.PrepareCopy) -> Statement[c.BeforeCopy]:
    return Statement(
        """select (select penstock.next_turn() where not exists (select from penstock.jobs where false)),
                  penstock.clock(), (select fair_by from penstock.queues where name = %s),
                  not pg_catalog.row_security_active('penstock.jobs')
                  and (%s::text is null
                       or not exists (select from penstock.kinds where kind = %s and quota is not null))""",
        [command.queue, command.owner, command.kind],
        lambda rows: c.BeforeCopy(*rows[0]),
        repeatable=True,
    )


def _existing_ids(command: c.ExistingIds) -> Statement[list[UUID]]:
    return Statement(
        "select id from penstock.all_jobs where id = any(%s::uuid[])", [[id.hex() for id in command.ids]], scalars,
        repeatable=True,
    )  # fmt: skip


def _wake(command: c.Wake) -> Statement[None]:
    return Statement(
        "select penstock.wake(p_queue => %s, p_jobs => %s)", [command.queue, command.jobs], nothing, repeatable=True
    )


def _wait_for_work(command: c.WaitForWork) -> Statement[float | None]:
    direct, backend = (command.direct, command.backend) if isinstance(command, c.WaitForHand) else (False, None)
    return Statement(
        "select penstock.wait_for_work(p_lease => %s, p_queues => %s::text[],"
        " p_backend => coalesce(%s, pg_catalog.pg_backend_pid()), p_direct => %s)",
        [command.lease, list(dict.fromkeys(command.queues)), backend, direct],
        first,
    )


def _take_turns(command: c.TakeTurns) -> Statement[int]:
    return Statement(
        "select penstock.take_turns(p_queue => %s, p_key => %s, p_jobs => %s)",
        [command.queue, command.key, command.jobs],
        first,
    )


def _suspend(command: c.Suspend) -> Statement[c.SuspendedJob | None]:
    text, read = selecting_of(
        "penstock.suspend(p_lease => %s, p_id => %s, p_claims => %s, p_step => %s::text::jsonb,"
        " p_calls => %s::text::jsonb, p_progress => %s::text::jsonb)",
        c.Suspend,
    )
    as_json = [None if each is None else to_json(each) for each in (command.step, command.calls, command.progress)]
    return Statement(text, [command.lease, command.id, command.claims, *as_json], read, repeatable=True)


def _emit(command: c.Emit) -> Statement[UUID | None]:
    """Any driver must be able to run it: it is part of the caller's transaction."""
    hand = ", p_hand => true" if command.hand else ""
    return Statement(
        "select penstock.emit(p_event => %s, p_key => %s, p_payload => %s::text::jsonb,"
        f" p_keep => pg_catalog.make_interval(secs => %s::text::float8){hand})::text",
        [command.event, command.key, bytes(command.payload).decode(), str(command.keep)],
        lambda rows: None if rows[0][0] is None else UUID(rows[0][0]),
    )


# By hand: what is no function of its own.


def _start_for(command: c.StartFor) -> Statement[list[Enqueued]]:
    text, read = selecting_of(
        "penstock.start_for(p_owner => %s, p_quota => %s, p_jobs => %s::text::jsonb, p_by_user => %s)", c.StartFor
    )
    jobs = to_json([job.to_json() for job in command.jobs])
    return Statement(text, [command.owner, command.quota, jobs, command.by_user], read)


def _start_each(command: c.StartEach) -> Statement[list[Enqueued]]:
    return Statement(
        """
        select started.id, started.created
          from pg_catalog.unnest(%s::text[]) with ordinality as given (args, place),
               lateral penstock.start(p_kind => %s, p_args => args::jsonb, p_org => %s) as started
         order by place
        """,
        [[bytes(each).decode() for each in command.args], command.kind, command.org],
        lambda rows: [Enqueued(id, created) for id, created in rows],
    )


def _fire_schedules(command: c.FireSchedules) -> Statement[Any]:
    text = """select penstock.fire_schedule(p_name => tick.name, p_tick => tick.at, p_next => tick.next)
                from rows from (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::timestamptz[]),
                                pg_catalog.unnest(%s::timestamptz[])) as tick (name, at, next)"""
    columns = [[getattr(tick, name) for tick in command.ticks] for name in c.Tick.__struct_fields__]
    return Statement(text, columns, scalars, repeatable=True)


def _plan_schedules(command: c.PlanSchedules) -> Statement[Any]:
    text = """select penstock.plan_schedule(p_name => plan.name, p_next => plan.next)
                from rows from (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::timestamptz[]))
                     as plan (name, next)"""
    return Statement(text, [list(command.names), list(command.next)], nothing, repeatable=True)


_BY_HAND: dict[type[Command[Any]], Callable[[Any], Statement[Any]]] = LOOKS | {
    c.Complete: _complete,
    c.Fail: _fail,
    c.ReportProgress: _report_progress,
    c.Snooze: _snooze,
    c.Park: _park,
    c.StopCancelled: _stop_cancelled,
    c.Release: _release,
    c.Claim: _claim,
    c.EnqueueJobs: _enqueue_jobs,
    c.EnqueuePlain: _enqueue_plain,
    c.PrepareCopy: _prepare_copy,
    c.ExistingIds: _existing_ids,
    c.Wake: _wake,
    c.TakeTurns: _take_turns,
    c.WaitForWork: _wait_for_work,
    c.WaitForHand: _wait_for_work,
    c.Suspend: _suspend,
    c.Emit: _emit,
    c.StartFor: _start_for,
    c.StartEach: _start_each,
    c.FireSchedules: _fire_schedules,
    c.PlanSchedules: _plan_schedules,
}
