"""What Prometheus scrapes: queues and totals from the database, requests and streams from this process."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from penstock.engine import commands
from penstock.engine.commands import Command, DeadCount, EndedCount, ParkedCount, Queue, Total
from penstock.server.http.traffic import Traffic
from penstock.worker.process_memory import resident_bytes

__all__ = ["CONTENT_TYPE", "SCRAPED", "Scraped", "exposition"]


@dataclass(frozen=True, slots=True)
class Scraped:
    """What the commands of SCRAPED gave, in their order."""

    queues: Sequence[Queue]
    dead: Sequence[DeadCount]
    ended: Sequence[EndedCount]
    parked: Sequence[ParkedCount]
    totals: Sequence[Total]
    workers: int


SCRAPED: tuple[Command[Any], ...] = (
    commands.QueueOverview(), commands.DeadJobs(), commands.EndedJobs(), commands.ParkedJobs(), commands.Totals(),
    commands.CountWorkers(),
)  # fmt: skip
"""None of them counts further than some ten thousand rows, whatever there is: it is asked every few seconds."""


def exposition(scraped: Scraped, queues: Iterable[str], traffic: Traffic, streams: int) -> bytes:
    """Every queue of the application's is there, also before its first job."""
    registry = CollectorRegistry()
    registry.register(_Now(scraped, queues, traffic, streams))
    return generate_latest(registry)


class _Now(Collector):
    def __init__(self, scraped: Scraped, queues: Iterable[str], traffic: Traffic, streams: int) -> None:
        self._scraped = scraped
        self._traffic = traffic
        self._streams = streams
        # and what ended in one that is gone
        named = {*queues, *(each.queue for each in scraped.dead), *(each.queue for each in scraped.ended)}
        unseen = sorted(named - {queue.name for queue in scraped.queues})
        self._queues = [*scraped.queues, *(Queue.idle(name) for name in unseen)]

    def collect(self) -> Iterator[Metric]:
        yield from self._about_queues()
        yield from self._about_what_ended()
        yield from self._about_kinds()
        yield from self._traffic.collect()
        yield GaugeMetricFamily("penstock_streams", "Open streams of progress in this process.", self._streams)
        yield GaugeMetricFamily("penstock_process_memory_bytes", "Resident memory of this process.", resident_bytes())

    def _about_queues(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily(
            "penstock_jobs", "Unfinished jobs, counted no further than 10,000.", labels=["queue", "state"]
        )
        truncated = GaugeMetricFamily(
            "penstock_jobs_truncated", "Whether there are more jobs than were counted.", labels=["queue"]
        )
        oldest = GaugeMetricFamily(
            "penstock_oldest_ready_seconds", "How long the next job has waited for a worker.", labels=["queue"]
        )
        paused = GaugeMetricFamily("penstock_queue_paused", "Whether the queue is paused.", labels=["queue"])
        for queue in self._queues:
            for state in ("blocked", "scheduled", "ready", "running"):
                jobs.add_metric([queue.name, state], getattr(queue, state))
            truncated.add_metric([queue.name], int(not queue.exact))
            oldest.add_metric([queue.name], queue.oldest_ready_seconds or 0)
            paused.add_metric([queue.name], int(queue.paused))
        yield from (jobs, truncated, oldest, paused)
        parked = GaugeMetricFamily(
            "penstock_parked_jobs", "Jobs that wait for a worker which knows them.", labels=["queue", "kind"]
        )
        for each in self._scraped.parked:
            parked.add_metric([each.queue, each.kind], each.jobs)
        yield parked

    def _about_what_ended(self) -> Iterator[Metric]:
        dead = GaugeMetricFamily(
            "penstock_dead_jobs", "Jobs on record that were given up, counted no further than 1,000.", labels=["queue"]
        )
        ended = CounterMetricFamily("penstock_ended", "Runs that ended, by how.", labels=["queue", "outcome"])
        counts = {each.queue: each.jobs for each in self._scraped.dead}
        outcomes = {each.queue: each for each in self._scraped.ended}
        for queue in self._queues:
            dead.add_metric([queue.name], counts.get(queue.name, 0))
            for outcome in ("succeeded", "failed", "retried", "cancelled"):
                ended.add_metric([queue.name, outcome], getattr(outcomes.get(queue.name), outcome, 0))
        yield from (dead, ended)

    def _about_kinds(self) -> Iterator[Metric]:
        families = [
            CounterMetricFamily("penstock_runs", "Finished runs of jobs.", labels=["kind"]),
            CounterMetricFamily("penstock_run_seconds", "Time that runs took.", labels=["kind"]),
            CounterMetricFamily("penstock_failures", "Runs that failed.", labels=["kind"]),
            CounterMetricFamily("penstock_artifact_bytes", "Bytes of artifacts stored.", labels=["kind"]),
        ]
        for total in self._scraped.totals:
            for family, name in zip(families, ("runs", "seconds", "failures", "bytes"), strict=True):
                family.add_metric([total.kind], getattr(total, name))
        yield from families
        yield GaugeMetricFamily("penstock_workers", "Workers that hold a lease.", self._scraped.workers)
