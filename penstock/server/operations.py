"""For those who run the server: tick, health, metrics, scale, usage, and what can be started."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.engine import commands
from penstock.server.dependencies import Caller, Service, Shared
from penstock.server.http import models
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs.shapes import encode
from penstock.server.jobs.visible import run_for
from penstock.server.metrics import CONTENT_TYPE, SCRAPED, Scraped, exposition
from penstock.worker.supervisor import wanted_workers
from penstock.worker.worker import SLOTS

router = APIRouter(route_class=CheckedRoute, tags=["operations"])
health = APIRouter(route_class=CheckedRoute, tags=["operations"])
"""What is answered wherever the jobs are."""

_JSON = "application/json"


@router.post(
    "/api/jobs/tick",
    tags=["jobs"],
    summary="Run what is ready, here and now",
    response_model=models.Ticked,
    responses=problems(403),
)
async def tick(_: Service, shared: Shared, body: models.TickRequest | None = None) -> Response:
    """For cron and serverless functions: claims at most `limit` jobs, runs them in this request, reports each.
    As many of a queue at once as `app.tick()` does."""
    asked = body or models.TickRequest()
    results = await shared.app.atick(asked.limit, asked.budget, shared.app.slots_of_tick(asked.queues))
    answer = {"ok": True, "processed": len(results), "results": results}
    return Response(encode(answer), media_type=_JSON)


@router.get("/api/kinds", tags=["jobs"], summary="What you can start", response_model=models.Kinds,
            responses=problems())  # fmt: skip
async def list_kinds(caller: Caller, shared: Shared) -> Response:
    shown = [
        {"kind": each.kind, "description": each.__doc__, "args": each.arguments.schema()}
        for each in shared.app.startable
        if caller.is_service or each.options.users
    ]
    return Response(encode({"kinds": shown}), media_type=_JSON)


@router.get(
    "/api/queues/{name}/scale",
    summary="How many workers a queue calls for",
    response_model=models.Scale,
    responses=problems(403),
)
async def get_scale(
    name: models.Text,
    _: Service,
    shared: Shared,
    slots: Annotated[int, Query(ge=1, le=100_000, description="Jobs that one worker runs at once.")] = SLOTS,
    least: Annotated[int, Query(ge=0, le=100_000)] = 0,
    most: Annotated[int, Query(ge=1, le=100_000)] = 100,
) -> Response:
    """For KEDA's metrics-api scaler, with `valueLocation: wanted_workers` and `targetValue: 1`, and for any other."""
    now = await shared.app.engine.arun(commands.ScaleOf(name))
    wanted = wanted_workers(
        ready=now.ready, running=now.running, oldest_s=now.oldest_ready_seconds, slots=slots, workers=now.workers,
        least=least, most=max(least, most),
    )  # fmt: skip
    answer = {"queue": name, **msgspec.structs.asdict(now), "wanted_workers": wanted}
    return Response(encode(answer), media_type=_JSON)


@router.get(
    "/api/usage", summary="What your organisations used", response_model=models.UsageReport, responses=problems(403)
)
async def get_usage(
    caller: Caller, shared: Shared, org: Annotated[models.Text | None, Query(description="Only this one.")] = None
) -> Response:
    """Runs, seconds, failures and bytes by day, organisation and kind; the service sees all of them."""
    if not caller.is_service and org is not None and org not in caller.orgs:
        raise Problem(403, "org: you do not belong to it")
    asked = commands.ListUsage(org)
    return Response(encode({"usage": await run_for(shared, caller, service=asked, user=asked)}), media_type=_JSON)


@health.get("/healthz", summary="Whether the server runs", response_model=models.Health)
async def healthz() -> Response:
    return Response(b'{"status":"ok"}', media_type=_JSON)


@health.get("/readyz", summary="Whether it can do its work", response_model=models.Health,
            responses={503: problems()[503]})  # fmt: skip
async def readyz(shared: Shared) -> Response:
    await shared.app.engine.arun(commands.NextRunAt())
    if not shared.app.engine.capabilities.database:
        await shared.app.database.arun(commands.NextRunAt())
    return Response(b'{"status":"ok"}', media_type=_JSON)


@router.get("/api/workers", summary="Who works, and on what", response_model=models.Workers, responses=problems(403))
async def get_workers(_: Service, shared: Shared) -> Response:
    """Every worker that holds a lease, with the service key: where it is, and what it runs for how long."""
    return Response(encode({"workers": await shared.app.workers.alist()}), media_type=_JSON)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={**problems(403), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_metrics(_: Service, shared: Shared) -> Response:
    """With the service key as bearer token."""
    scraped = Scraped(*[await shared.app.engine.arun(command) for command in SCRAPED])
    text = exposition(scraped, shared.app.known_queues, shared.traffic, shared.hub.watchers)
    return Response(text, media_type=CONTENT_TYPE)


router.include_router(health)
