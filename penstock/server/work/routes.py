"""Workers over HTTP, with the service key: leases, claims, and what became of jobs. See docs/remote-workers.md."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from penstock.engine import calls
from penstock.engine.call import Call
from penstock.engine.http import messages
from penstock.errors import LeaseLost
from penstock.job import JobState, Lease
from penstock.json import clean
from penstock.server.dependencies import Shared, service_only
from penstock.server.http.models import Text
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.work import complete, job_routes, long_poll, models, uploads
from penstock.server.work.models import Batch, Held
from penstock.server.work.waiting import WaitingWorkers

router = APIRouter(route_class=CheckedRoute, prefix="/api/work", tags=["workers"], dependencies=[Depends(service_only)])
router.include_router(job_routes.router)
router.include_router(uploads.router)

LeaseInPath = Annotated[int, Path(ge=0, le=2**53, description="The worker's lease.")]
_JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_KEY = problems(403)
_GONE = problems(403, 410)


def workers_of(shared: Shared) -> WaitingWorkers:
    assert shared.workers is not None
    return shared.workers


Workers = Annotated[WaitingWorkers, Depends(workers_of)]


def _answer(message: object) -> Response:
    return Response(_encode(message), media_type=_JSON)


def _gone(lease: int) -> Problem:
    return Problem(410, f"lease {lease} is gone: its jobs are others' by now; open a new one")


# Leases.


@router.post(
    "/leases",
    summary="Come to work",
    response_model=models.LeaseOpened,
    status_code=200,
    responses=_KEY,
)
async def open_lease(body: models.OpenLease, shared: Shared) -> Response:
    await _be_tended(shared)
    engine = shared.app.engine
    call = calls.open_lease(
        body.worker, seconds=body.seconds, queues=body.queues, host=body.host, pid=body.pid, kinds=body.kinds
    )
    lease = await engine.arun(call)
    extended = await engine.arun(calls.heartbeat(lease))
    return _answer(messages.Opened(lease, extended.seconds or 30.0))


@router.post(
    "/leases/{lease}/heartbeat",
    summary="Keep the lease, and hear what there is to hear",
    description="Extends the lease for its length. With `wait` the answer is kept back until a job of the worker's is "
    "to be stopped, one of `queues` has work, or the time is over: one such request after another is all that an idle "
    "worker needs to send.",
    response_model=models.Beaten,
    responses=_KEY,
)
async def heartbeat(
    lease: LeaseInPath, request: Request, shared: Shared, workers: Workers, body: models.Heartbeat | None = None
) -> Response:
    await _be_tended(shared)
    body = body or models.Heartbeat()
    if body.wait == 0:
        extended = await shared.app.engine.arun(calls.heartbeat(Lease(lease)))
        return _answer(messages.Beat(extended.alive, extended.cancelling, extended.seconds))
    await workers.settle()
    return _answer(await long_poll.beat(shared.app.engine, workers, request, Lease(lease), body))


@router.delete(
    "/leases/{lease}",
    summary="Leave: what the lease still holds goes back",
    response_model=models.GivenBack,
    responses=_KEY,
)
async def close_lease(
    lease: LeaseInPath,
    shared: Shared,
    dead: Annotated[bool, Query(description="The worker died: the attempt counts.")] = False,
) -> Response:
    end = calls.expire_lease if dead else calls.close_lease
    return _answer(messages.Given(await shared.app.engine.arun(end(Lease(lease)))))


@router.put(
    "/leases/{lease}/waiting",
    summary="Ask to be woken for queues",
    description="The heartbeat that waits tells of work. Claim once more after this: a job may have come just before.",
    response_model=models.WorkerWaits,
    responses=_GONE,
)
async def wait_for_work(lease: LeaseInPath, body: models.WaitForWork, shared: Shared, workers: Workers) -> Response:
    await workers.settle()
    if not (await shared.app.engine.arun(calls.heartbeat(Lease(lease)))).alive:
        raise _gone(lease)
    _, again = await workers.register(Lease(lease), body.queues)
    return _answer(messages.Waits(again is not None, None if again == float("inf") else again))


@router.delete(
    "/leases/{lease}/waiting",
    summary="Ask not to be woken",
    status_code=204,
    responses=_KEY,
    response_class=Response,
)
async def stop_waiting(
    lease: LeaseInPath,
    workers: Workers,
    queue: Annotated[list[Text] | None, Query(description="Of these queues; default: of all.")] = None,
) -> Response:
    await workers.unregister(Lease(lease), queue)
    return Response(status_code=204)


# Finding work.


@router.post(
    "/claim",
    summary="Claim jobs",
    description="Takes up to `limit` jobs, best first. With `wait` it waits for one when there is none, and keeps the "
    "lease meanwhile. If the answer does not reach you, say so by `release-unknown`.",
    response_model=models.ClaimedJobs,
    responses=_GONE,
)
async def claim_jobs(body: models.Claim, request: Request, shared: Shared, workers: Workers) -> Response:
    if body.wait:
        await _be_tended(shared)
        await workers.settle()
    try:
        jobs = await long_poll.claim(shared.app.engine, workers, request, body)
    except LeaseLost:
        raise _gone(body.lease) from None
    return _answer(messages.Claimed([messages.HeldJob.of(job, body.queue) for job in jobs]))


@router.post(
    "/release-unknown",
    summary="Give back what you do not know of",
    description="After a claim without an answer: what the lease holds besides `known` goes back, at no cost of an "
    "attempt. Not while another claim of yours is under way.",
    response_model=models.GivenBackJobs,
    responses=_KEY,
)
async def release_unknown(body: models.ReleaseUnknown, shared: Shared) -> Response:
    call = calls.release_unknown(Lease(body.lease), body.known, body.seconds)
    return _answer(messages.Given(await shared.app.engine.arun(call)))


@router.post(
    "/wake",
    summary="Tell another worker of work",
    status_code=204,
    responses=_KEY,
    response_class=Response,
)
async def wake_worker(body: models.Wake, shared: Shared) -> Response:
    await shared.app.engine.arun(calls.wake(body.queue, body.jobs))
    return Response(status_code=204)


@router.get(
    "/backlog",
    summary="What queues have at hand",
    response_model=list[models.QueueBacklog],
    responses=_KEY,
)
async def get_backlog(
    shared: Shared,
    queue: Annotated[list[Text], Query(min_length=1, max_length=1000)],
    most: Annotated[int, Query(ge=1, le=1_000_000, description="Ready jobs are counted no further.")] = 10_000,
) -> Response:
    found = await shared.app.engine.arun(calls.backlog(queue, most))
    return _answer([messages.Waiting(each.queue, each.ready, each.running, each.oldest_s) for each in found])


# What became of jobs.


@router.post("/progress", summary="Say how far jobs are", response_model=models.JobFates, responses=_KEY)
async def report_progress(body: models.ProgressBatch, shared: Shared) -> Response:
    reports = [_said(job.model_dump(exclude={"id", "claims"}, exclude_none=True)) for job in body.jobs]
    told = await shared.app.engine.arun(calls.report_progress(Lease(body.lease), body.jobs, reports))
    return _fates(body, {id: {"cancel_requested": cancel} for id, cancel in told.items()})


@router.post(
    "/complete",
    summary="Jobs are done",
    response_model=models.JobFates,
    responses=problems(403, 409),
)
async def complete_jobs(body: models.CompleteBatch, shared: Shared) -> Response:
    if body.enqueue:
        accepted = await complete.complete_and_enqueue(shared.app, body)
        return _fates(body, {body.jobs[0].id: {}} if accepted else {})
    refused = set(await shared.app.engine.arun(complete.complete_jobs(body)))
    return _fates(body, {job.id: {} for job in body.jobs if job.id not in refused})


@router.post("/fail", summary="Attempts have failed", response_model=models.JobFates, responses=_KEY)
async def fail_jobs(body: models.FailBatch, shared: Shared) -> Response:
    errors = [_said(job.model_dump(exclude={"id", "claims"}, exclude_none=True)) for job in body.jobs]
    return await _become(body, shared, calls.fail(Lease(body.lease), body.jobs, errors))


@router.post("/snooze", summary="Look again later", response_model=models.JobFates, responses=_KEY)
async def snooze_jobs(body: models.SnoozeBatch, shared: Shared) -> Response:
    return await _become(body, shared, calls.snooze(Lease(body.lease), body.jobs, [job.seconds for job in body.jobs]))


@router.post(
    "/park",
    summary="Put jobs aside that this worker does not know",
    description="It has no handler of their kind, or none that takes their arguments. Costs no attempt: a worker that "
    "names the kind when it comes to work gets them at once, and others when some time has passed.",
    response_model=models.JobFates,
    responses=_KEY,
)
async def park_jobs(body: models.ParkBatch, shared: Shared) -> Response:
    reasons = [clean(job.reason) for job in body.jobs]
    return await _become(body, shared, calls.park(Lease(body.lease), body.jobs, reasons))


@router.post(
    "/release", summary="Give jobs back, at no cost of an attempt", response_model=models.JobFates, responses=_KEY
)
async def release_jobs(body: models.ReleaseBatch, shared: Shared) -> Response:
    released = await shared.app.engine.arun(calls.release(Lease(body.lease), body.jobs))
    return _fates(body, {id: {} for id in released})


@router.post("/cancelled", summary="Jobs were stopped as asked", response_model=models.JobFates, responses=_KEY)
async def confirm_cancelled(body: models.CancelledBatch, shared: Shared) -> Response:
    accepted: dict[UUID, Mapping[str, Any]] = {}
    for reason in {job.reason: None for job in body.jobs}:
        those = [job for job in body.jobs if job.reason == reason]
        ids = await shared.app.engine.arun(calls.stop_cancelled(Lease(body.lease), those, clean(reason)))
        accepted |= {id: {} for id in ids}
    return _fates(body, accepted)


async def _become(body: Batch, shared: Shared, call: Call[dict[UUID, tuple[JobState, datetime | None]]]) -> Response:
    became = await shared.app.engine.arun(call)
    return _fates(body, {id: {"state": state, "run_at": run_at} for id, (state, run_at) in became.items()})


def _fates(body: Batch, accepted: Mapping[UUID, Mapping[str, Any]]) -> Response:
    jobs: list[Held] = body.jobs
    return _answer(
        messages.Fates([messages.Fate(job.id, job.id in accepted, **accepted.get(job.id, {})) for job in jobs])
    )


def _said(document: dict[str, Any]) -> dict[str, Any]:
    """With texts that Postgres can hold."""
    return {name: clean(value) if isinstance(value, str) else value for name, value in document.items()}


async def _be_tended(shared: Shared) -> None:
    """Workers without a database cannot do what happens now and then: while there are any, this server does."""
    if shared.upkeep is not None:
        await shared.upkeep.ensure()
