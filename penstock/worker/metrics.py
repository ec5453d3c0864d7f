"""What Prometheus scrapes from a worker: how its jobs ended, how long they waited and ran, and its memory."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from penstock.extras import needs
from penstock.worker.ending import Cancelled, Ending, Failed, Parked, Released, Settled, Snoozed, Succeeded
from penstock.worker.memory import resident_bytes
from penstock.worker.run import Run, Stop

with needs("server", "/metrics of a worker"):
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import Collector

BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)

_OUTCOMES: dict[type, str] = {
    Succeeded: "succeeded", Failed: "failed", Cancelled: "cancelled", Snoozed: "snoozed", Released: "released",
    Parked: "parked", Settled: "succeeded",
}  # fmt: skip
_LOST = "lost"
"""The job is another worker's by now."""


class Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKETS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        place = next((place for place, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))
        self._counts[place] += 1
        self._sum += seconds

    def add_to(self, family: HistogramMetricFamily, queue: str) -> None:
        so_far, cumulated = 0, []
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), self._counts, strict=True):
            so_far += count
            cumulated.append((bound, so_far))
        family.add_metric([queue], cumulated, self._sum)


class WorkerMetrics(Collector):
    """Counts as the worker works. Every queue it works on is there, also before its first job."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._queues = list(queues)
        self._ended: Counter[tuple[str, str]] = Counter()
        self._dead: Counter[str] = Counter()
        self._waited: dict[str, Histogram] = defaultdict(Histogram)
        self._ran: dict[str, Histogram] = defaultdict(Histogram)

    def note(self, queue: str, run: Run, ending: Ending) -> None:
        """A run has ended."""
        self._ended[queue, _LOST if run.stop is Stop.LOST else _OUTCOMES[type(ending)]] += 1
        if not run.started:
            return
        ran = time.monotonic() - run.started
        self._ran[queue].observe(ran)
        if run.job.claims == 1:
            self._waited[queue].observe(max(0.0, time.time() - run.job.created_at.timestamp() - ran))
        if isinstance(ending, Failed) and (ending.error.get("final") or run.job.attempt >= run.job.max_attempts):
            self._dead[queue] += 1

    def collect(self) -> Iterator[Metric]:
        ended = CounterMetricFamily("penstock_worker_runs", "Runs by how they ended.", labels=["queue", "outcome"])
        dead = CounterMetricFamily("penstock_worker_dead", "Jobs that were given up.", labels=["queue"])
        waited = HistogramMetricFamily(
            "penstock_worker_wait_seconds", "From enqueueing to the first run, delays included.", labels=["queue"]
        )
        ran = HistogramMetricFamily("penstock_worker_run_seconds", "How long runs took.", labels=["queue"])
        for queue in self._queues:
            for outcome in dict.fromkeys((*_OUTCOMES.values(), _LOST)):
                ended.add_metric([queue, outcome], self._ended[queue, outcome])
            dead.add_metric([queue], self._dead[queue])
            self._waited[queue].add_to(waited, queue)
            self._ran[queue].add_to(ran, queue)
        yield from (ended, dead, waited, ran)
        yield GaugeMetricFamily("penstock_process_memory_bytes", "Resident memory of this process.", resident_bytes())

    def exposition(self) -> bytes:
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)


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
