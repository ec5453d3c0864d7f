"""Starting what a caller names: their own jobs under their role, flows composed by the application, anything for the
service."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, cast
from uuid import UUID

import msgspec

from penstock.app import Penstock
from penstock.dedupe import for_tenant, sorted_json
from penstock.engine import commands
from penstock.errors import InvalidInput, NotAllowed, UnknownKind, meant
from penstock.flow import Flow
from penstock.flow_maker import FlowMaker
from penstock.handler import Handler
from penstock.job import Enqueued, JobState, NewJob
from penstock.job_options import Choices
from penstock.server.auth.identity import Identity
from penstock.server.jobs.compose import compose, compose_if_large


class Chosen(TypedDict, total=False):
    """What else the service may choose for a job that it starts; None is for the kind's own choice."""

    run_at: datetime | None
    delay: float | None
    priority: int | None
    queue: str | None


@dataclass(frozen=True, slots=True)
class Started(Enqueued):
    """What starting gave: `state` is where the job begins, or where one that was there before is by now."""

    state: JobState


async def start(
    app: Penstock,
    caller: Identity,
    kind: str,
    args: Mapping[str, Any],
    *,
    owner: str | None = None,
    org: str | None = None,
    key: str | None = None,
    asked: Mapping[str, Any] | None = None,
    counts: bool = True,
    choices: Chosen | None = None,
) -> Started:
    """A job or a flow by its kind; nothing is written when its arguments do not fit. The `key` stands for these
    arguments or, where they say more than the request did, for what was `asked`."""
    known = _known(app, caller, kind)
    _refuse_closed(caller, known, owner, counts=counts)
    chosen = _only_chosen(choices)
    _refuse_choices(caller, known, chosen)
    if isinstance(known, FlowMaker):
        whose = owner if caller.is_service else _subject_in(caller, org)
        return await _start_flow(app, known, args, whose, org, key, asked, counts=counts, by_user=not caller.is_service)
    composed = caller.is_service or asked is not None
    with _naming_args():
        if composed:
            whose = owner if caller.is_service else _subject_in(caller, org)
            placed = _using(known, chosen).using(owner=whose, org=org)
            stands_for = _stands_for(kind, args if asked is None else asked, org, counts=counts) | chosen
            job = await compose_if_large(args, lambda: _keyed(placed.prepare(**args), key, stands_for))
        else:
            encoded = await compose_if_large(args, lambda: known.encode(args))
    if composed:
        enqueued = (await _enqueue(app, [job], whose, counts=counts, by_user=not caller.is_service))[0]
        return await _started(app, enqueued, _state_at_first(job.run_at, job.delay))
    given = commands.Start(kind, msgspec.Raw(encoded), org=org, idempotency_key=key)
    enqueued = await app.database.arun_as(caller.role, caller.claims, given)
    return await _started(app, enqueued, _state_at_first(known.options.run_at, known.options.delay))


async def _start_flow(
    app: Penstock,
    maker: FlowMaker[...],
    args: Mapping[str, Any],
    owner: str | None,
    org: str | None,
    key: str | None,
    asked: Mapping[str, Any] | None,
    *,
    counts: bool,
    by_user: bool,
) -> Started:
    stands_for = _stands_for(maker.kind, args if asked is None else asked, org, counts=counts)

    def make() -> list[NewJob]:
        jobs = [for_tenant(job, owner, org) for job in maker.make(args).jobs()]
        jobs[0] = _keyed(jobs[0], key, stands_for)
        return jobs

    with _naming_args():
        jobs = await compose(make)
    flow, *members = await _enqueue(app, jobs, owner, maker.options.quota or None, counts=counts, by_user=by_user)
    return await _started(app, flow, JobState.BLOCKED if members else JobState.READY)


async def _started(app: Penstock, enqueued: Enqueued, at_first: JobState) -> Started:
    """What is created is where it begins; what stands for it may be anywhere by now."""
    state = at_first if enqueued.created else await state_now(app, enqueued.id)
    return Started(enqueued.id, enqueued.created, state)


def _state_at_first(run_at: datetime | None, delay: float | timedelta | None) -> JobState:
    later = bool(delay) or (run_at is not None and run_at > datetime.now(UTC))
    return JobState.SCHEDULED if later else JobState.READY


async def state_now(app: Penstock, id: UUID) -> JobState:
    job = await app.engine.arun(commands.GetJob(id))
    # only one end leaves no record: success in a queue that keeps none of it
    return JobState.SUCCEEDED if job is None else job.state


async def _enqueue(
    app: Penstock,
    jobs: Sequence[NewJob],
    owner: str | None,
    quota: str | None = None,
    *,
    counts: bool,
    by_user: bool = False,
) -> Sequence[Enqueued]:
    """On somebody's behalf it counts against their quota, unless the service says that it does not."""
    if owner is None:
        return await app.engine.aenqueue(jobs)
    if not counts:
        return await app.engine.aenqueue([replace(job, quota=False) for job in jobs])
    return await app.engine.arun(await compose(lambda: commands.StartFor(owner, quota, jobs, by_user=by_user)))


async def start_each(
    app: Penstock,
    caller: Identity,
    kind: str,
    each: Sequence[Mapping[str, Any]],
    *,
    owner: str | None = None,
    org: str | None = None,
) -> list[Enqueued]:
    """Several jobs of one kind, all or none, in their order: each as `start` would start it, so that one that is under
    way already stands for another like it."""
    handler = app.handler(kind)
    _refuse_closed(caller, handler, owner, counts=True)
    encoded = await compose(lambda: [handler.encode(args) for args in each])
    # in one order whoever asks, since those that are alike wait for each other
    order = sorted(range(len(each)), key=encoded.__getitem__)
    if caller.is_service:
        jobs = [for_tenant(handler.prepare(**each[place]), owner, org) for place in order]
        started = await _enqueue(app, jobs, owner, counts=True)
    else:
        given = commands.StartEach(kind, [msgspec.Raw(encoded[place]) for place in order], org=org)
        started = await app.database.arun_as(caller.role, caller.claims, given)
    return [enqueued for _, enqueued in sorted(zip(order, started, strict=True))]


async def start_batch(
    app: Penstock,
    caller: Identity,
    items: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    owner: str | None = None,
    org: str | None = None,
    key: str | None = None,
    counts: bool = True,
    choices: Sequence[Chosen] | None = None,
) -> list[Enqueued]:
    """The batch, then its jobs in their order; of one whose key was used before, those that are still known. It goes on
    when one of them fails. `choices` are those of each item."""
    chosen = [_only_chosen(each) for each in choices] if choices else [Choices()] * len(items)
    prepared = await compose(lambda: _prepare(app, caller, items, chosen, owner, counts=counts))
    if caller.is_service:
        flow = Flow(policy="continue")
        for job in prepared:
            flow.add(replace(job, unique_key=None))
        jobs = [for_tenant(job, owner, org) for job in flow.jobs()]
        stands_for = _stands_for("batch", items, org, counts=counts)
        jobs[0] = _keyed(jobs[0], key, stands_for | {"choices": chosen} if any(chosen) else stands_for)
        batch, *members = await _enqueue(app, jobs, owner, counts=counts)
        if not batch.created:
            earlier = await app.engine.arun(commands.ListJobs({"parent": str(batch.id)}, None, len(items)))
            members = [Enqueued(job.id, False) for job in reversed(earlier)]
        return [batch, *members]
    given = [{"kind": kind, "args": args} for kind, args in items]
    return await app.database.arun_as(
        caller.role, caller.claims, commands.StartBatch(given, org=org, idempotency_key=key)
    )


def _prepare(
    app: Penstock,
    caller: Identity,
    items: Sequence[tuple[str, Mapping[str, Any]]],
    choices: Sequence[Choices],
    owner: str | None,
    *,
    counts: bool,
) -> list[NewJob]:
    prepared: list[NewJob] = []
    for place, ((kind, args), chosen) in enumerate(zip(items, choices, strict=True)):
        with _naming_args(f"jobs.{place}."):
            known = _known(app, caller, kind)
            if isinstance(known, FlowMaker):
                raise InvalidInput("kind", f"{kind!r} is a flow, which cannot be part of a batch")
            _refuse_closed(caller, known, owner, counts=counts)
            _refuse_choices(caller, known, chosen)
            prepared.append(_using(known, chosen).prepare(**args))
    return prepared


def _stands_for(kind: str, args: object, org: str | None, *, counts: bool) -> dict[str, object]:
    asked: dict[str, object] = {"kind": kind, "args": args, "org": org}
    return asked if counts else asked | {"quota": False}


def _keyed(job: NewJob, key: str | None, asked: Mapping[str, object]) -> NewJob:
    """With the key of a request, which stands for what was asked: what is made of that may change with a deploy."""
    if key is None:
        return job
    digest = hashlib.sha256(sorted_json(msgspec.json.encode(asked)).encode()).hexdigest()
    return replace(job, idempotency_key=key, fingerprint=digest)


def _known(app: Penstock, caller: Identity, kind: str) -> Handler[..., Any] | FlowMaker[...]:
    """To a user, a kind that is closed is one that does not exist: what there is besides theirs is not told."""
    if caller.is_service:
        try:
            return app.flow_maker(kind) or app.handler(kind)
        except UnknownKind as error:
            raise InvalidInput("kind", str(error)) from None
    opened = {each.kind: each for each in app.startable if each.options.users}
    if kind not in opened:
        raise NotAllowed(f"kind: {kind!r} is not open to users{meant(kind, opened)}")
    return opened[kind]


def _refuse_closed(
    caller: Identity, known: Handler[..., Any] | FlowMaker[...], owner: str | None, *, counts: bool
) -> None:
    if caller.is_service:
        return
    if not known.options.users:
        raise NotAllowed(f"kind: {known.kind} is not open to users")
    if owner is not None and owner != caller.subject:
        raise NotAllowed("owner: only the service starts jobs for others")
    if not counts:
        raise NotAllowed("quota: only the service starts jobs that do not count")


def _only_chosen(choices: Chosen | None) -> Choices:
    chosen = {name: value for name, value in (choices or {}).items() if value is not None}
    return cast(Choices, chosen)


def _refuse_choices(caller: Identity, known: Handler[..., Any] | FlowMaker[...], chosen: Choices) -> None:
    for name in chosen:
        if not caller.is_service:
            raise NotAllowed(f"{name}: only the service chooses it")
        if isinstance(known, FlowMaker):
            raise InvalidInput(name, f"is for jobs; {known.kind!r} is a flow, whose function chooses it")


def _using(handler: Handler[..., Any], chosen: Choices) -> Handler[..., Any]:
    try:
        return handler.using(**chosen) if chosen else handler
    except InvalidInput as error:
        raise _Choice(error.field, error.problem) from None


class _Choice(InvalidInput):
    """A choice that is refused: its name is none of the arguments'."""


def _subject_in(caller: Identity, org: str | None) -> str:
    if org is not None and org not in caller.orgs:
        raise NotAllowed("org: you do not belong to it")
    return str(caller.subject)


@contextmanager
def _naming_args(place: str = "") -> Iterator[None]:
    """A refused argument is named as the request names it."""
    try:
        yield
    except InvalidInput as error:
        is_argument = error.field != "kind" and not isinstance(error, _Choice)
        field = f"args.{error.field}".rstrip(".") if is_argument else error.field
        raise type(error)(place + field, error.problem) from None
