"""`penstock bench`: how fast this database takes jobs, and how soon they start."""

import asyncio
import time
from typing import Annotated
from uuid import UUID

import typer

from penstock.app import Penstock
from penstock.cli.output import out, print_json
from penstock.cli.progress import Told, bar
from penstock.errors import PenstockError
from penstock.job import JobState, NewJob
from penstock.outcome import EndedRun
from penstock.worker.worker import Worker

QUEUE = "penstock-bench"
KIND = "penstock.bench"
SLOTS = 20
CHUNK = 1000
"""Jobs in one statement."""
SAMPLES = 200
"""Jobs that are enqueued one after the other, each to an idle worker."""


class Bench:
    def __init__(self, app: Penstock, jobs: int, json: bool) -> None:
        self._app, self._count, self._json = app, jobs, json
        self.ids: list[UUID] = []
        """Of all jobs that may be there, to be cleaned up."""
        self.enqueued = self.ran = 0.0
        """Jobs a second."""
        self.waits: list[float] = []
        """Seconds from before an enqueue until the handler began, the shortest first."""
        self._ended = 0
        self._began_at = 0.0

    async def measure(self) -> None:
        app = self._app
        app.job(kind=KIND, queue=QUEUE)(self._handler)
        app.on_end(self._note)
        with bar("enqueueing", self._count, json=self._json) as tell:
            self.enqueued = await self._enqueue(tell)
        worker = app.worker({QUEUE: SLOTS}, name=f"{QUEUE} {SLOTS}", grace=5)
        running = asyncio.create_task(worker.run())
        try:
            with bar("running", self._count, json=self._json) as tell:
                self.ran = await self._drain(worker, running, tell)
            samples = min(self._count, SAMPLES)
            with bar("one by one", samples, json=self._json) as tell:
                for number in range(samples):
                    self.waits.append(await self._one(running))
                    tell(number + 1)
        finally:
            worker.stop()
            await running
        self.waits.sort()

    async def _handler(self) -> None:
        self._began_at = time.perf_counter()

    def _note(self, _: EndedRun) -> None:
        self._ended += 1

    async def _enqueue(self, tell: Told) -> float:
        began = time.perf_counter()
        for first in range(0, self._count, CHUNK):
            jobs = [NewJob(kind=KIND, queue=QUEUE) for _ in range(min(CHUNK, self._count - first))]
            self.ids += [job.id for job in jobs]
            await self._app.engine.aenqueue(jobs)
            tell(first + len(jobs))
        return self._count / (time.perf_counter() - began)

    async def _drain(self, worker: Worker, running: asyncio.Task[None], tell: Told) -> float:
        ready = asyncio.create_task(worker.ready.wait())
        await asyncio.wait([ready, running], return_when=asyncio.FIRST_COMPLETED)
        began = time.perf_counter()
        await self._until(self._count, running, tell)
        return self._count / (time.perf_counter() - began)

    async def _one(self, running: asyncio.Task[None]) -> float:
        job = NewJob(kind=KIND, queue=QUEUE)
        self.ids.append(job.id)
        ended, before = self._ended + 1, time.perf_counter()
        await self._app.engine.aenqueue([job])
        await self._until(ended, running)
        return self._began_at - before

    async def _until(self, ended: int, running: asyncio.Task[None], tell: Told | None = None) -> None:
        while self._ended < ended:
            await asyncio.wait([running], timeout=0.005)
            if running.done():
                running.result()
                raise PenstockError("the worker has stopped before the jobs were done")
            if tell is not None:
                tell(self._ended)

    def clean_up(self) -> None:
        with bar("cleaning up", len(self.ids), json=self._json) as tell:
            for first in range(0, len(self.ids), CHUNK):
                chunk = self.ids[first : first + CHUNK]
                self._app.jobs.cancel(*chunk)
                self._app.jobs.purge_where(ids=chunk, state=list(JobState))
                tell(first + len(chunk))


def bench(
    app: Penstock,
    json: bool,
    jobs: Annotated[int, typer.Option("--jobs", "-n", min=1, help="How many jobs that do nothing.")] = 10_000,
) -> None:
    """Measure how many jobs a second this database takes and a worker here runs, and how soon a job starts.

    The jobs do nothing, are in a queue of their own, and are removed afterwards, also on Ctrl-C. Other work of the
    database and of this machine counts against them, and they against that.
    """
    if any(queue.name == QUEUE and (queue.ready or queue.running) for queue in app.queues.list(most=1)):
        advice = f"penstock jobs cancel --queue {QUEUE} --yes"
        raise PenstockError(f"{QUEUE} has jobs: another bench runs, or one was killed and left them; then: {advice}")
    measured = Bench(app, jobs, json)
    try:
        asyncio.run(measured.measure())
    finally:
        measured.clean_up()
    p50, p99 = (1000 * measured.waits[int(share * (len(measured.waits) - 1))] for share in (0.5, 0.99))
    if json:
        print_json(
            {
                "jobs": jobs,
                "enqueued_per_second": round(measured.enqueued),
                "run_per_second": round(measured.ran),
                "to_start_ms": {"p50": round(p50, 2), "p99": round(p99, 2)},
            }
        )
        return
    for what, figure, how in (
        ("enqueued", f"{measured.enqueued:,.0f}/s", f"up to {CHUNK:,} in one statement"),
        ("run", f"{measured.ran:,.0f}/s", f"by one worker with {SLOTS} slots"),
        ("to start", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", "one by one, by an idle worker"),
    ):
        out.print(f"{what:<10} {figure:<28} [dim]{how}[/]", highlight=False)
