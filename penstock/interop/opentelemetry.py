"""Traces from enqueue to run, app.middleware(OpenTelemetry()), and metrics: measure(app).

Names are those of OpenTelemetry's conventions for messaging where they have one. Needs opentelemetry-api
(penstock[otel]); which SDK takes what is made here, and where it sends it, is the program's business.
"""

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.app import Penstock
from penstock.context import JobContext
from penstock.engine.commands import Queue
from penstock.errors import PenstockError
from penstock.extras import needs
from penstock.middleware import CallNext
from penstock.outcome import EndedRun

with needs("otel", "OpenTelemetry"):
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation
    from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

__all__ = ["OpenTelemetry", "measure"]

log = logging.getLogger("penstock.worker")

BUCKETS = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
"""Seconds: jobs take longer than the requests that an SDK's own are made for."""

MOST_COUNTED = 100_000
"""Jobs of a queue and state: a look takes some 20 ms then. A chart of a queue that has more is flat at the top."""
TOGETHER = 0.5
"""Seconds within which what is asked for is of the same look."""

_OURS = {"messaging.system": "penstock", "messaging.operation.name": "process", "messaging.operation.type": "process"}


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
            **_OURS,
            "messaging.destination.name": ctx.queue,
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


def measure(app: Penstock, provider: MeterProvider | None = None, *, depths: bool = False) -> None:
    """Counts and times what workers of this application do in this process: runs by outcome, how long jobs waited and
    ran. With `depths` also how many jobs are in which queue, of the whole database: say so in one process alone.

    ```python
    from penstock.interop.opentelemetry import measure

    measure(app)
    ```
    """
    meter = metrics.get_meter("penstock", meter_provider=provider)
    app.on_end(_Runs(meter).note)
    if depths:
        _Queues(app, meter)


class _Runs:
    def __init__(self, meter: Meter) -> None:
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Runs of jobs, by how they ended."
        )
        self._ran = meter.create_histogram(
            "messaging.process.duration", "s", "How long runs took.", explicit_bucket_boundaries_advisory=BUCKETS
        )
        self._waited = meter.create_histogram(
            "penstock.job.wait.duration", "s", "From enqueueing to the first run, delays included.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )  # fmt: skip

    def note(self, run: EndedRun) -> None:
        about: dict[str, str] = {
            **_OURS, "messaging.destination.name": run.queue, "penstock.kind": run.job.kind,
            "penstock.outcome": run.outcome,
        }  # fmt: skip
        if run.failure is not None:
            about["error.type"] = run.failure.error_type or "_OTHER"
        self._consumed.add(1, about)
        if run.ran is not None:
            self._ran.record(run.ran, about)
        if run.waited is not None:
            del about["penstock.outcome"]
            about.pop("error.type", None)
            self._waited.record(run.waited, about)


class _Queues:
    """What the database has of each queue, looked at in the thread of whoever exports."""

    def __init__(self, app: Penstock, meter: Meter) -> None:
        self._app = app
        self._seen: Sequence[Queue] = ()
        self._seen_at = -math.inf
        meter.create_observable_gauge("penstock.queue.jobs", [self._jobs], "{job}", "Unfinished jobs, by state.")
        meter.create_observable_gauge(
            "penstock.queue.oldest_ready", [self._oldest], "s", "How long the next job has waited for a worker."
        )

    def _jobs(self, _: CallbackOptions) -> Iterator[Observation]:
        for queue in self._look():
            for state in ("blocked", "scheduled", "ready", "running"):
                about = {"messaging.destination.name": queue.name, "penstock.state": state}
                yield Observation(getattr(queue, state), about)

    def _oldest(self, _: CallbackOptions) -> Iterator[Observation]:
        for queue in self._look():
            yield Observation(queue.oldest_ready_seconds or 0.0, {"messaging.destination.name": queue.name})

    def _look(self) -> Sequence[Queue]:
        """One for both, which are asked for at once."""
        if time.monotonic() - self._seen_at > TOGETHER:
            try:
                found = self._app.queues.list(most=MOST_COUNTED)
                # one that is empty is none to the database: its line would stay where it was
                empty = set(self._app.known_queues) - {queue.name for queue in found}
                self._seen = [*found, *(Queue.idle(name) for name in sorted(empty))]
            except PenstockError as error:
                # a gap in the chart; the exporter goes on
                log.warning("the queues could not be measured: %s", error)
                self._seen = ()
            self._seen_at = time.monotonic()
        return self._seen
