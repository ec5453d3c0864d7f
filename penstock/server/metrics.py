"""What Prometheus scrapes: queues and totals from the database, requests and streams from this process."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from penstock.engine.commands import Parked, Queue, Total
from penstock.server.http.traffic import Traffic
from penstock.worker.process_memory import resident_bytes

__all__ = ["CONTENT_TYPE", "exposition"]


def exposition(
    queues: Sequence[Queue], parked: Sequence[Parked], totals: Sequence[Total], workers: int, dead: Mapping[str, int],
    traffic: Traffic, streams: int,
) -> bytes:  # fmt: skip
    registry = CollectorRegistry()
    registry.register(_Now(queues, parked, totals, workers, dead, traffic, streams))
    return generate_latest(registry)


class _Now(Collector):
    def __init__(
        self, queues: Sequence[Queue], parked: Sequence[Parked], totals: Sequence[Total], workers: int,
        dead: Mapping[str, int], traffic: Traffic, streams: int,
    ) -> None:  # fmt: skip
        self._queues = queues
        self._parked = parked
        self._totals = totals
        self._workers = workers
        self._dead = dead
        self._traffic = traffic
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        yield from self._about_queues()
        yield from self._about_kinds()
        yield from self._traffic.collect()
        yield GaugeMetricFamily("penstock_streams", "Open streams of progress in this process.", self._streams)
        yield GaugeMetricFamily("penstock_process_memory_bytes", "Resident memory of this process.", resident_bytes())

    def _about_queues(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("penstock_jobs", "Unfinished jobs.", labels=["queue", "state"])
        oldest = GaugeMetricFamily(
            "penstock_oldest_ready_seconds", "How long the next job has waited for a worker.", labels=["queue"]
        )
        paused = GaugeMetricFamily("penstock_queue_paused", "Whether the queue is paused.", labels=["queue"])
        for queue in self._queues:
            for state in ("blocked", "scheduled", "ready", "running"):
                jobs.add_metric([queue.name, state], getattr(queue, state))
            oldest.add_metric([queue.name], queue.oldest_ready_seconds or 0)
            paused.add_metric([queue.name], int(queue.paused))
        dead = GaugeMetricFamily("penstock_dead_jobs", "Jobs on record that were given up.", labels=["queue"])
        for queue in self._queues:
            dead.add_metric([queue.name], self._dead.get(queue.name, 0))
        yield from (jobs, oldest, paused, dead)
        parked = GaugeMetricFamily(
            "penstock_parked_jobs", "Jobs that wait for a worker which knows them.", labels=["queue", "kind"]
        )
        for each in self._parked:
            parked.add_metric([each.queue, each.kind], each.jobs)
        yield parked

    def _about_kinds(self) -> Iterator[Metric]:
        families = [
            CounterMetricFamily("penstock_runs", "Finished runs of jobs.", labels=["kind"]),
            CounterMetricFamily("penstock_run_seconds", "Time that runs took.", labels=["kind"]),
            CounterMetricFamily("penstock_failures", "Runs that failed.", labels=["kind"]),
            CounterMetricFamily("penstock_artifact_bytes", "Bytes of artifacts stored.", labels=["kind"]),
        ]
        for total in self._totals:
            for family, name in zip(families, ("runs", "seconds", "failures", "bytes"), strict=True):
                family.add_metric([total.kind], getattr(total, name))
        yield from families
        yield GaugeMetricFamily("penstock_workers", "Workers that hold a lease.", self._workers)
