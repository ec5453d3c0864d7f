"""A trace from enqueue to run: app.middleware(OpenTelemetry()). Needs opentelemetry-api (penstock[otel])."""

from collections.abc import Mapping
from typing import Any

from penstock.context import JobContext
from penstock.extras import needs
from penstock.middleware import CallNext

with needs("otel", "OpenTelemetry"):
    from opentelemetry import propagate, trace
    from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider


class OpenTelemetry:
    """A span around each run of a handler, child of the span that was current when the job was enqueued."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("penstock", tracer_provider=provider)

    def stamp(self) -> Mapping[str, str]:
        """What travels with a job: the current trace, if there is one."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier

    async def __call__(self, ctx: JobContext, call_next: CallNext, /) -> Any:
        attributes: dict[str, str | int] = {
            "messaging.system": "penstock",
            "messaging.operation.type": "process",
            "messaging.message.id": str(ctx.id),
            "penstock.kind": ctx.kind,
            "penstock.attempt": ctx.attempt,
        }
        with self._tracer.start_as_current_span(
            f"run {ctx.kind}",
            context=propagate.extract(ctx.carried),
            kind=SpanKind.CONSUMER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                return await call_next()
            except Exception as error:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                raise
