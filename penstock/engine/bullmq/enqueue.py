"""Enqueueing: jobs as BullMQ stores them, all of a call in one transaction of Redis."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any
from uuid import UUID

import msgspec

from penstock.columns import COLUMNS
from penstock.engine.bullmq import index
from penstock.engine.bullmq.calls import Addition, now_ms, plain
from penstock.engine.bullmq.names import to_bullmq, uuid_of
from penstock.engine.bullmq.queues import meet
from penstock.engine.bullmq.record import Record
from penstock.engine.bullmq.session import Session
from penstock.errors import DuplicateKey, EngineCannot, InvalidFlow, InvalidInput
from penstock.job import Bulk, Enqueued, NewJob, Work

KEPT = {"age": 7 * 24 * 3600}
"""Seconds that the record of an ended job is kept."""

_ITS_OWN = {"id", "kind", "queue", "args", "run_at", "priority", "max_attempts", "parent"}
"""Which BullMQ has a place for. Quotas are refused."""
OURS = tuple(column.name for column in COLUMNS if column.by == "caller" and column.name not in {*_ITS_OWN, "quota"})
"""Which a job has under `penstock`."""
_AT_ONCE = 1000


async def enqueue(session: Session, work: Work) -> Sequence[Enqueued]:
    jobs = work.jobs() if isinstance(work, Bulk) else list(work)
    additions, waits = await additions_of(session, jobs)
    answers: list[str | int] = []
    # a flow must not be seen in part; of plain jobs as many as fit into a request
    size = len(additions) if waits else _AT_ONCE
    for start in range(0, len(additions), max(size, 1)):
        part = additions[start : start + size]
        answers += await session.many([each.call() for each in part], together=_together(session, part))
    given: dict[str, str | int] = {str(job.id): str(job.id) for job in jobs}
    given |= {each.id: answer for each, answer in zip(additions, answers, strict=True)}
    enqueued = [_enqueued(job, given[str(job.id)]) for job in jobs]
    # what a unique key stands for may be a job that somebody else has added
    before = [job for job, each in zip(jobs, enqueued, strict=True) if not each.created]
    await session.many(index.note(session, [Record(job.queue, str(given[str(job.id)]), {}) for job in before]))
    return enqueued


async def additions_of(session: Session, jobs: Sequence[NewJob]) -> tuple[list[Addition], bool]:
    """What adds them, and whether some wait for others."""
    refuse(jobs)
    waiters = _waiters(session, jobs)
    additions = _additions(session, jobs, waiters)
    if waiters:
        # added once more, one that has failed would be waited for again, and never come
        there = {str(job.id) for job in await existing(session, jobs)}
        additions = [each for each in additions if each.id not in there]
    await meet(session, sorted({job.queue for job in jobs}))
    return additions, bool(waiters)


def _enqueued(job: NewJob, answer: str | int) -> Enqueued:
    if isinstance(answer, int):
        raise InvalidInput("parent", f"{job.parent} does not exist")
    created = answer == str(job.id)
    return Enqueued(job.id if created else uuid_of(job.queue, answer), created)


def _together(session: Session, part: Sequence[Addition]) -> bool:
    """A cluster knows transactions within one slot only."""
    return not session.names.cluster or len({each.keys.base for each in part}) == 1


async def existing(session: Session, jobs: Sequence[NewJob]) -> list[NewJob]:
    """Of these the ones whose ids are taken in their queue."""
    there = await session.many([plain("EXISTS", session.keys(job.queue)[str(job.id)]) for job in jobs])
    return [job for job, exists in zip(jobs, there, strict=True) if exists]


def refuse(jobs: Sequence[NewJob]) -> None:
    """What BullMQ has no equal of."""
    keys: set[tuple[str, str]] = set()
    for job in jobs:
        if job.idempotency_key is not None:
            raise EngineCannot(
                "idempotency_keys", "jobs on BullMQ take no idempotency_key: give the job an id of your own, or unique="
            )
        if job.quota:
            raise EngineCannot("quotas", f"quota {job.quota!r} is not counted on BullMQ: use max_running of its queue")
        if job.unique_key is not None:
            if (job.queue, unique_id(job)) in keys:
                raise DuplicateKey("unique_key", f"two jobs of one call have {job.unique_key!r}")
            keys.add((job.queue, unique_id(job)))


def _waiters(session: Session, jobs: Sequence[NewJob]) -> dict[UUID, NewJob]:
    """Who waits for a job: in BullMQ that is one at most, what it calls the job's parent."""
    here = {job.id: job for job in jobs}
    waiters: dict[UUID, NewJob] = {}
    for job in jobs:
        for earlier in job.after:
            if earlier not in here:
                raise EngineCannot(
                    "after_existing", "BullMQ lets a job wait only for jobs that are enqueued with it: make a Flow"
                )
            if earlier in waiters:
                raise InvalidFlow(
                    "after",
                    f"two jobs wait for {here[earlier].kind!r}: on BullMQ a flow is a tree, each has one waiter",
                )
            waiters[earlier] = job
    for job in jobs:
        if job.parent is not None:
            if job.parent not in here:
                raise InvalidInput("parent", f"{job.parent} is not enqueued with it, as BullMQ needs it")
            waiters.setdefault(job.id, here[job.parent])
    if session.names.cluster:
        for id, waiter in waiters.items():
            if session.keys(waiter.queue) != session.keys(here[id].queue) and "{" not in session.names.prefix:
                raise InvalidFlow(
                    "queue",
                    "jobs of a flow share a queue in a cluster, or the URL has ?prefix={bull}: one slot",
                )
    return waiters


def _additions(session: Session, jobs: Sequence[NewJob], waiters: Mapping[UUID, NewJob]) -> list[Addition]:
    """Who waits comes before what it waits for."""
    waiting = {waiter.id for waiter in waiters.values()}
    here = {job.id: job for job in jobs}
    try:
        order = list(TopologicalSorter({id: {waiter.id} for id, waiter in waiters.items()}).static_order())
    except CycleError:
        raise InvalidFlow("after", "jobs wait for each other in a circle") from None
    additions = []
    for job in [here[id] for id in order] + [job for job in jobs if job.id not in waiters and job.id not in waiting]:
        opts = options_of(job)
        waiter = waiters.get(job.id)
        if waiter is not None:
            opts["idof" if _goes_on(waiter, waiters) else "fpof"] = True
        parent = None if waiter is None else (session.keys(waiter.queue), str(waiter.id))
        keys = session.keys(job.queue)
        additions.append(Addition(keys, str(job.id), job.kind, job.args, opts, now_ms(), job.id in waiting, parent))
    return additions


def _goes_on(job: NewJob, waiters: Mapping[UUID, NewJob]) -> bool:
    """Whether the flow that waits in the end goes on when a job of it fails."""
    while job.rollup is None and job.id in waiters:
        job = waiters[job.id]
    return (job.rollup or {}).get("policy") == "continue"


def options_of(job: NewJob) -> dict[str, Any]:
    """As BullMQ's options of a job; what it does not know is under `penstock`."""
    opts: dict[str, Any] = {
        "jobId": str(job.id), "attempts": job.max_attempts, "priority": to_bullmq(job.priority),
        "removeOnComplete": KEPT, "removeOnFail": KEPT, "backoff": _backoff(job.options),
    }  # fmt: skip
    if (ms := delay_ms(job)) > 0:
        opts["delay"] = ms
    if job.unique_key is not None:
        opts["de"] = {"id": unique_id(job)}
    opts["penstock"] = {name: value for name in OURS if (value := getattr(job, name)) is not None}
    if job.parent is not None:
        opts["penstock"]["flow"] = str(job.parent)
    return opts


def unique_id(job: NewJob) -> str:
    """Tenants never meet in a key, nor do kinds. JSON.stringify makes the same text of the same values."""
    return msgspec.json.encode([job.kind, job.owner or "", job.org or "", job.unique_key]).decode()


def delay_ms(job: NewJob) -> int:
    if job.run_at is not None:
        return int((job.run_at - datetime.now(UTC)).total_seconds() * 1000)
    return int((job.delay or 0) * 1000)


def _backoff(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Ours, as near as a Node worker can have it."""
    ours = (options or {}).get("backoff") or {}
    kind = "fixed" if ours.get("shape") == "constant" else "exponential"
    return {"type": kind, "delay": int(ours.get("base", 5.0) * 1000)}
