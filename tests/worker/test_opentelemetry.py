"""One trace from the request that enqueued a job to the run of its handler, and metrics of what became of it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock import Backoff, JobState, Penstock, Snooze
from penstock.interop import opentelemetry
from penstock.interop.opentelemetry import OpenTelemetry, measure
from tests.kit.until import until
from tests.kit.working import working


async def test_the_run_of_a_job_belongs_to_the_trace_that_enqueued_it(url: str) -> None:
    app = Penstock(url)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app.middleware(OpenTelemetry(provider))

    @app.job
    async def greet(name: str) -> str:
        return f"hello {name}"

    @app.job(max_attempts=1, queue="mail")
    def refuse(name: str) -> None:
        raise ValueError(f"not {name}")

    async with app:
        with provider.get_tracer("test").start_as_current_span("request"):
            await greet.aenqueue("Ada")
            await refuse.aenqueue_many([{"name": "Grace"}])
        untraced = await greet.aenqueue("nobody")
        results = await app.atick()
    assert [result.state for result in results].count(JobState.SUCCEEDED) == 2

    request, *runs = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    by_job = {(span.attributes or {})["messaging.message.id"]: span for span in runs}
    alone = by_job.pop(str(untraced.id))
    assert alone.parent is None
    assert [span.parent.span_id for span in by_job.values() if span.parent] == [request.context.span_id] * 2
    assert {span.name: span.status.is_ok for span in by_job.values()} == {"run greet": True, "run refuse": False}
    assert {span.name: span.status.description for span in runs}["run refuse"] == "ValueError: not Grace"
    assert {(span.attributes or {})["messaging.destination.name"] for span in runs} == {"default", "mail"}


async def test_without_a_middleware_that_stamps_nothing_travels_along(url: str) -> None:
    app = Penstock(url)

    @app.job
    async def greet(name: str) -> None: ...

    async with app:
        handle = await greet.aenqueue("Ada")
        assert (await handle.arefresh()).options == {}


Points = dict[str, list[tuple[Mapping[str, Any], Any]]]


async def collected(reader: InMemoryMetricReader) -> Points:
    """Of each metric, by name, its points with their attributes; in a thread, as an exporter asks."""
    data = await asyncio.to_thread(reader.get_metrics_data)
    found: Points = {}
    for resource in data.resource_metrics if data is not None else []:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                found[metric.name] = [(point.attributes or {}, point) for point in metric.data.data_points]
    return found


async def test_runs_are_counted_by_outcome_and_timed_and_the_queues_can_be_seen(app: Penstock) -> None:
    reader = InMemoryMetricReader()
    measure(app, MeterProvider([reader]), depths=True)

    @app.job(max_attempts=2, backoff=Backoff.constant(0))
    def work(what: str) -> Snooze | None:
        if what == "fail":
            raise LookupError(what)
        return None

    app.queue("mail")

    @app.job(queue="quick", timeout=0.01, max_attempts=1)
    async def hang() -> None:
        await asyncio.Event().wait()

    jobs = [await work.aenqueue(what) for what in ("go", "go", "fail")] + [await hang.aenqueue()]
    later = await work.using(delay=3600).aenqueue("later")

    async def all_ended() -> bool:
        return all([(await job.arefresh()).state.final for job in jobs])

    async with working(app, {"default": 5, "quick": 1}):
        await until(all_ended)
    told = await collected(reader)
    about = {"messaging.system": "penstock", "messaging.operation.name": "process"}
    assert all(about.items() <= each.items() for each, _ in told["messaging.client.consumed.messages"])
    counts = {
        (each["messaging.destination.name"], each["penstock.kind"], each["penstock.outcome"], each.get("error.type")): (
            point.value
        )
        for each, point in told["messaging.client.consumed.messages"]
    }
    assert counts == {
        ("default", "work", "succeeded", None): 2, ("default", "work", "retried", "LookupError"): 1,
        ("default", "work", "failed", "LookupError"): 1, ("quick", "hang", "failed", "Timeout"): 1,
    }  # fmt: skip
    ran = {
        (each["penstock.kind"], each["penstock.outcome"]): point for each, point in told["messaging.process.duration"]
    }
    assert ran["hang", "failed"].sum >= 0.01
    assert ran["work", "succeeded"].count == 2
    waited = {each["penstock.kind"]: point for each, point in told["penstock.job.wait.duration"]}
    assert (waited["work"].count, waited["hang"].count) == (3, 1), "only first runs have waited"
    depths = {
        each["penstock.state"]: point.value
        for each, point in told["penstock.queue.jobs"]
        if each["messaging.destination.name"] == "default"
    }
    assert depths == {"blocked": 0, "scheduled": 1, "ready": 0, "running": 0}
    oldest = {each["messaging.destination.name"]: point.value for each, point in told["penstock.queue.oldest_ready"]}
    assert oldest == {"default": 0, "mail": 0, "quick": 0}, "an empty queue has a line too"
    assert (await later.arefresh()).state is JobState.SCHEDULED


async def test_ticks_are_measured_and_a_database_that_is_away_is_a_gap(app: Penstock, monkeypatch: Any) -> None:
    reader = InMemoryMetricReader()
    measure(app, MeterProvider([reader]), depths=True)
    monkeypatch.setattr(opentelemetry, "TOGETHER", -1.0)

    @app.job
    def work() -> None: ...

    await work.aenqueue()
    await app.atick()
    app.connect_to("postgresql://127.0.0.1:1/nowhere?connect_timeout=2")
    told = await collected(reader)
    assert [point.value for _, point in told["messaging.client.consumed.messages"]] == [1]
    assert told.get("penstock.queue.jobs", []) == []


async def test_a_hook_that_raises_is_logged_and_has_no_other_effect(app: Penstock, caplog: Any) -> None:
    @app.on_end
    def break_down(_: object) -> None:
        raise ValueError("no")

    @app.job
    def work() -> int:
        return 7

    job = await work.aenqueue()
    await app.atick()
    assert await job.aresult(5) == 7
    assert "a function of @app.on_end raised" in caplog.text
