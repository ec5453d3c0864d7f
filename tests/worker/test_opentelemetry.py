"""One trace from the request that enqueued a job to the run of its handler."""

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock import JobState, Penstock
from penstock.interop.opentelemetry import OpenTelemetry


async def test_the_run_of_a_job_belongs_to_the_trace_that_enqueued_it(url: str) -> None:
    app = Penstock(url)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app.middleware(OpenTelemetry(provider))

    @app.job
    async def greet(name: str) -> str:
        return f"hello {name}"

    @app.job(max_attempts=1)
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


async def test_without_a_middleware_that_stamps_nothing_travels_along(url: str) -> None:
    app = Penstock(url)

    @app.job
    async def greet(name: str) -> None: ...

    async with app:
        handle = await greet.aenqueue("Ada")
        assert (await handle.arefresh()).options == {}
