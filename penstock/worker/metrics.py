"""What Prometheus scrapes from a worker: how its jobs ended, how long they waited and ran, and its memory."""

import asyncio
from collections.abc import Iterable
from typing import get_args

from penstock.extras import needs
from penstock.outcome import EndedRun, RunOutcome
from penstock.worker.process_memory import resident_bytes

with needs("server", "/metrics of a worker"):
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)

_OUTCOMES = [outcome for outcome in get_args(RunOutcome) if outcome != "retried"]
"""A run that failed has failed, tried again or not; `penstock_worker_dead` those that are not."""


class _Queue:
    """The metrics of one queue; all of them are there before its first job."""

    def __init__(self, name: str, runs: Counter, dead: Counter, waited: Histogram, ran: Histogram) -> None:
        self.ended = {outcome: runs.labels(name, outcome) for outcome in _OUTCOMES}
        self.dead = dead.labels(name)
        self.waited = waited.labels(name)
        self.ran = ran.labels(name)


class WorkerMetrics:
    """Counts as the worker works."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._registry = registry = CollectorRegistry()
        metrics = (
            Counter("penstock_worker_runs", "Runs by how they ended.", ["queue", "outcome"], registry=registry),
            Counter("penstock_worker_dead", "Jobs that were given up.", ["queue"], registry=registry),
            Histogram(
                "penstock_worker_wait_seconds", "From enqueueing to the first run, delays included.", ["queue"],
                buckets=BUCKETS, registry=registry,
            ),
            Histogram(
                "penstock_worker_run_seconds", "How long runs took.", ["queue"], buckets=BUCKETS, registry=registry
            ),
        )  # fmt: skip
        self._queues = {name: _Queue(name, *metrics) for name in queues}
        memory = Gauge("penstock_process_memory_bytes", "Resident memory of this process.", registry=registry)
        memory.set_function(resident_bytes)

    def note(self, run: EndedRun) -> None:
        metrics = self._queues[run.queue]
        metrics.ended["failed" if run.outcome == "retried" else run.outcome].inc()
        if run.outcome == "failed":
            metrics.dead.inc()
        if run.ran is not None:
            metrics.ran.observe(run.ran)
        if run.waited is not None:
            metrics.waited.observe(run.waited)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)


async def serve_metrics(metrics: WorkerMetrics, host: str, port: int) -> asyncio.Server:
    """Answers GET /metrics, and nothing else, to whoever can reach that address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                asked = await reader.readuntil(b"\r\n\r\n")
            known = asked.split(b" ", 2)[:2] == [b"GET", b"/metrics"]
            body = metrics.exposition() if known else b"GET /metrics\n"
            status = "200 OK" if known else "404 Not Found"
            content_type = CONTENT_TYPE_LATEST if known else "text/plain"
            head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
            writer.write(head.encode() + b"connection: close\r\n\r\n" + body)
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=16 * 1024)
