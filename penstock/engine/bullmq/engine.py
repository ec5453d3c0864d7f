"""The engine on BullMQ: which function answers which command."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from penstock.engine import commands as c
from penstock.engine.bullmq import (
    changes,
    counts,
    enqueue,
    index,
    leases,
    looks,
    lost,
    operations,
    outcomes,
    parking,
    queues,
    schedules,
    seen,
)
from penstock.engine.bullmq.address import Address
from penstock.engine.bullmq.calls import nudge, plain
from penstock.engine.bullmq.claim import claim
from penstock.engine.bullmq.faults import LOST, RedisUnavailable, refusal_by
from penstock.engine.bullmq.hands import Hands
from penstock.engine.bullmq.health import Health, look_at
from penstock.engine.bullmq.listener import BullmqListener
from penstock.engine.bullmq.mover import BullmqMover
from penstock.engine.bullmq.portal import Portal
from penstock.engine.bullmq.refusal import cannot, refusal
from penstock.engine.bullmq.retry import retry
from penstock.engine.bullmq.session import Session
from penstock.engine.bullmq.together import complete_and_enqueue
from penstock.engine.bullmq.wait import until_final
from penstock.engine.commands.command import Command
from penstock.engine.faults import UNSET, Faults, Outage, within
from penstock.engine.protocol import Capabilities, Ears
from penstock.job import Enqueued, Held, Job, Work
from penstock.keeper import Keeper

R = TypeVar("R")
Answer = Callable[[Session, Hands, Any], Awaitable[Any]]


async def _nothing(*_: object) -> None:
    """BullMQ does it by itself, or keeps no record of it."""


async def _unsaid(*_: object) -> list[str]:
    """Workers of Node's say nothing of kinds."""
    return []


async def _workers(session: Session, _: Hands, __: object) -> int:
    return len(await leases.workers(session))


async def _all_queues(session: Session, _: Hands, __: object) -> list[c.Queue]:
    return [await queues.queue_of(session, name) for name in await queues.known_queues(session)]


async def _scale(session: Session, _: Hands, asked: c.ScaleOf) -> c.QueueScale:
    queue, workers = await queues.queue_of(session, asked.queue), await leases.workers(session)
    if queue.paused:
        return c.QueueScale(True, 0, queue.running, None, len(workers))
    return c.QueueScale(False, queue.ready, queue.running, queue.oldest_ready_seconds, len(workers))


async def _wait_for_work(session: Session, _: Hands, asked: c.WaitForWork) -> float | None:
    told = [await queues.look_again_in(session, queue) for queue in dict.fromkeys(asked.queues)]
    return min((seconds for seconds in told if seconds is not None), default=None)


async def _report(session: Session, _: Hands, said: c.ReportStatistics) -> None:
    await leases.note_worker(session, said)
    await counts.add(session, said.runs)


async def _next_run_at(session: Session, _: Hands, __: object) -> None:
    """BullMQ sees to that; whoever asks learns that Redis answers."""
    await session.one(plain("EXISTS", session.names.own("queues")))


async def _wake(session: Session, _: Hands, asked: c.Wake) -> None:
    await session.one(nudge(session.keys(asked.queue)))


async def _maintain(session: Session, _: Hands, __: object) -> dict[str, int]:
    return {"forgotten": await index.forget_gone(session), "lost": await session.one(lost.waiting(session))}


async def _holds(session: Session, hands: Hands, asked: c.Holds) -> bool:
    return bool(await hands.find(session, asked.lease, [Held(asked.id, asked.claims)]))


async def _existing(session: Session, _: Hands, asked: c.ExistingIds) -> list[UUID]:
    return list(await index.places(session, [UUID(bytes=id) for id in asked.ids]))


ANSWERS: dict[type[Command[Any]], Answer] = {
    c.OpenLease: lambda s, _, a: leases.open_lease(s, a),
    c.ExtendLease: lambda s, h, a: leases.extend(s, h, a.lease, leads=True),
    c.Heartbeat: lambda s, h, a: leases.extend(s, h, a.lease, leads=False),
    c.ExpireLease: lambda s, h, a: leases.end(s, h, a.lease, counts=True),
    c.CloseLease: lambda s, h, a: leases.end(s, h, a.lease, counts=False),
    c.ReleaseUnknown: leases.give_back_unknown,
    c.Tend: lambda s, _, a: leases.tend(s, a.lease),
    c.TakeLost: lambda s, _, a: lost.take(s, a),
    c.ReportStatistics: _report,
    c.CountWorkers: _workers,
    c.Workers: lambda s, h, a: looks.list_workers(s, h, a.job),
    c.Claim: claim,
    c.WaitForWork: _wait_for_work,
    c.StopWaiting: _nothing,
    c.Wake: _wake,
    c.Complete: outcomes.complete,
    c.CompleteAndEnqueue: complete_and_enqueue,
    c.Fail: outcomes.fail,
    c.Snooze: outcomes.snooze,
    c.Park: parking.park,
    c.Release: lambda s, h, a: outcomes.release(s, h, a.lease, a.jobs),
    c.StopCancelled: outcomes.stop_cancelled,
    c.ReportProgress: outcomes.report_progress,
    c.RememberStep: looks.remember_step,
    c.RecallSteps: looks.recall_steps,
    c.Outputs: looks.outputs,
    c.Holds: _holds,
    c.GetJob: lambda s, _, a: looks.get_job(s, a.id),
    c.ListJobs: lambda s, _, a: looks.list_jobs(s, a.filter, a.before, a.limit),
    c.SeeJob: lambda s, _, a: seen.see_job(s, a.id, whole=False),
    c.SeeWholeJob: lambda s, _, a: seen.see_job(s, a.id, whole=True),
    c.SeeJobs: lambda s, _, a: seen.see_jobs(s, a),
    c.JobTree: lambda s, _, a: seen.tree_of(s, a.job),
    c.ExistingIds: _existing,
    c.Cancel: lambda s, _, a: changes.cancel(s, a.ids, a.reason),
    c.Retry: lambda s, _, a: retry(s, a.ids, a.queue),
    c.SearchJobs: lambda s, _, a: looks.search_jobs(s, a),
    c.RetryWhere: lambda s, _, a: operations.retry_where(s, a),
    c.PurgeWhere: lambda s, _, a: operations.purge_where(s, a),
    c.PreviewOperation: lambda s, _, a: operations.preview(s, a),
    c.StartOperation: lambda s, _, a: operations.operate(s, a),
    c.AddAudit: lambda s, _, a: operations.add_audit(s, a),
    c.ListAudit: lambda s, _, a: operations.list_audit(s, a),
    c.SetPriority: lambda s, _, a: changes.set_priority(s, a.ids, a.priority),
    c.SetQueue: lambda s, _, a: queues.set_queue(s, a),
    c.DeclareQueues: lambda s, _, a: queues.declare_queues(s, a),
    c.QueueStats: _all_queues,
    c.QueueOverview: _all_queues,
    c.ScaleOf: _scale,
    c.ParkedJobs: lambda s, _, __: parking.parked_jobs(s),
    c.DeadJobs: lambda s, _, a: counts.dead_jobs(s, a.most),
    c.Totals: lambda s, _, __: counts.totals(s),
    c.Backlog: lambda s, _, a: queues.backlog(s, a),
    c.SetSchedule: lambda s, _, a: schedules.set_schedule(s, a),
    c.ListSchedules: lambda s, _, a: schedules.list_schedules(s, a),
    c.RemoveSchedule: lambda s, _, a: schedules.remove_schedule(s, a.name),
    c.PauseSchedule: lambda s, _, a: schedules.pause_schedule(s, a.name, paused=True),
    c.ResumeSchedule: lambda s, _, a: schedules.pause_schedule(s, a.name, paused=False),
    c.RunSchedule: lambda s, _, a: schedules.run_schedule(s, a.name),
    c.DueSchedules: schedules.none_due,
    c.Maintain: _maintain,
    c.NextRunAt: _next_run_at,
    c.DeclareKinds: _nothing,
    c.KnownKinds: _unsaid,
}
"""What it can be asked for. The rest is refused by name."""


_ANSWER_TIMEOUT = 10.0
"""Seconds after which a handler in a process of its own gives up a connection, to ask again on another."""


class BullmqEngine:
    """`url` is redis://…, rediss://… or redis+cluster://…, with ?prefix=… where BullMQ's keys have another."""

    capabilities = Capabilities(
        transactions=False, leads=True, database=False, users=False, artifacts=False, durable_waits=False, search=False,
        statistics=False, quotas=False, key_limits=False, queue_settings=False, catch_up=False,
        idempotency_keys=False, claim_by_kind=False,
        after_existing=False,
    )  # fmt: skip
    faults = Faults(passing=LOST, is_lost=lambda error: isinstance(error, LOST))
    keeper: Keeper | None = None

    def __init__(
        self, url: str, *, connections: int = 50, timeout: float | None = None, outage: Outage | None = None
    ) -> None:
        self.url = url
        self.address = Address.of(url)
        self.outage = outage or Outage(f"Redis ({self.address.shown})")
        self._connections = connections
        self._timeout = timeout
        self._works = False
        """Of a worker, whose loops try again."""
        self._was_in = False
        """Whether Redis has ever answered here: a certificate or a password may become wrong for a while, later on."""
        self._hands = Hands()
        self._portal = Portal()
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, Session] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"BullmqEngine({self.address.shown!r})"

    def session(self) -> Session:
        """The one of the running loop."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = Session(self.address, connections=self._connections, timeout=self._timeout)
        return session

    async def arun(self, command: Command[R], /) -> R:
        answer = ANSWERS.get(type(command))
        if answer is None:
            raise refusal(command)
        asked = partial(answer, self.session(), self._hands, command)
        return cast(R, await self._told(asked, repeatable=command.repeatable))

    # by hand: on the portal's loop
    def run(self, command: Command[R], /) -> R:
        return self._portal.run(self.arun(command))

    async def _told(self, ask: Callable[[], Awaitable[R]], *, repeatable: bool) -> R:
        """Says once when Redis is away, and when it is back. A worker's loops try again by themselves; others wait
        here: its handlers until it is back, anybody else for as long as their timeout is."""
        began, pause = time.monotonic(), 0.02
        seconds = self.session().timeout
        # a handler says in its context that it waits, also on the worker's own engine
        at_once = within.get() is UNSET and (self._works or seconds is None)
        while True:
            try:
                given = await ask()
            except LOST as error:
                refused = refusal_by(error, self.address)
                if refused is not None and not self._was_in:
                    raise refused from error
                reason = str(refused or " ".join(str(error).split()))
                self.outage.begin(reason)
                if at_once or (seconds is None and not repeatable):
                    raise
                if seconds is not None:
                    tried = time.monotonic() - began
                    if tried + pause > seconds:
                        raise RedisUnavailable(seconds, reason, sent=True) from error
                    if not repeatable:
                        raise RedisUnavailable(tried, reason, sent=True) from error
            else:
                self._was_in = True
                self.outage.end()
                return given
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.5)

    async def aenqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        if connection is not None:
            raise cannot("transactions", "connection=")
        # by its id a job that is there already stands for itself
        return await self._told(lambda: enqueue.enqueue(self.session(), work), repeatable=True)

    # by hand: on the portal's loop
    def enqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        return self._portal.run(self.aenqueue(work, connection))

    async def await_end(self, id: UUID, timeout: float | None) -> Job | None:  # noqa: ASYNC109 - the twin
        return await until_final(self.session(), id, timeout, LOST)

    # by hand: on the portal's loop
    def wait(self, id: UUID, timeout: float | None) -> Job | None:
        return self._portal.run(self.await_end(id, timeout))

    # by hand: on the portal's loop
    def health(self) -> Health:
        """What the server says of itself."""

        async def look() -> Health:
            return await self._told(lambda: look_at(self.session()), repeatable=True)

        return self._portal.run(look())

    def transaction(self) -> NoReturn:
        raise cannot("transactions", "ctx.transaction()")

    def atransaction(self) -> NoReturn:
        raise cannot("transactions", "ctx.transaction()")

    @property
    def place(self) -> "BullmqPlace":
        return BullmqPlace(self.url)

    def of_worker(self, answer_timeout: float | None) -> "BullmqEngine":
        engine = BullmqEngine(self.url, connections=100, timeout=answer_timeout, outage=self.outage)
        engine._works = True
        return engine

    def listener(self, ears: Ears) -> BullmqListener:
        return BullmqListener(self, ears)

    def mover(self) -> BullmqMover:
        return BullmqMover(self.session, self._portal)

    # by hand: and the portal after it
    def close(self) -> None:
        if self._portal.open:
            self._portal.run(self.leave_loop())
            self._portal.close()

    async def aclose(self) -> None:
        await self.leave_loop()
        await asyncio.to_thread(self.close)

    async def leave_loop(self) -> None:
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


@dataclass(frozen=True, slots=True)
class BullmqPlace:
    url: str = field(repr=False)

    def engine(self) -> BullmqEngine:
        return BullmqEngine(self.url, connections=4, timeout=_ANSWER_TIMEOUT)
