"""Many calls that wait for their transcriptions: they need as many workers as are busy, not as many as there are
calls."""

import asyncio
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from calls.asking import ACME
from calls.providers import Clerk, Reader, transcript_of
from penstock import JobContext, Penstock
from penstock.middleware import CallNext
from penstock_recipes import calls as recipe
from penstock_recipes.calls.jobs import Pipeline
from penstock_recipes.calls.providers.transcription import AudioSource, Transcript
from penstock_recipes.calls.stages import Stages
from penstock_recipes.calls.store import Call
from tests.kit.fixtures import Connect
from tests.kit.working import working

SLOTS = 4
POOL = 6
SOUND = b"as far as anybody here can tell"


class Patient(Clerk):
    """Nothing is ready before it has been asked about every call: then all of them wait at the same time."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        self.asked[operation] += 1
        return transcript_of((await audio()).read_bytes()) if len(self.asked) == self._calls else None


class Watched:
    """What is in use at a time, at most."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._busy = 0
        self._before = threading.active_count()
        """Pools that other tests of this process have left."""
        self.busy = 0
        self.threads = 0
        self.connections = 0
        self.waiting = 0

    async def __call__(self, _: JobContext, call_next: CallNext, /) -> Any:
        self._busy += 1
        self.busy = max(self.busy, self._busy)
        self.threads = max(self.threads, threading.active_count() - self._before)
        try:
            return await call_next()
        finally:
            self._busy -= 1

    def look_around(self) -> None:
        [connections, waiting] = self._connection.execute(
            """
            select (select count(*) from pg_stat_activity where datname = current_database()),
                   (select count(*) from penstock.jobs where kind = 'transcribe_poll' and state = 'scheduled')
            """
        ).fetchone() or (0, 0)
        self.connections, self.waiting = max(self.connections, connections), max(self.waiting, waiting)


async def begin(app: Penstock, pipeline: Pipeline, connection: psycopg.Connection[Any]) -> None:
    """A call whose sound has been extracted and encoded before: that is not what this is about."""
    call = Call(ACME, uuid4())
    told: dict[str, Any] = {"org": str(ACME), "metadata": {"seconds": 0.5, "channels": 2, "rate": 16000}}
    for name, type in (("audio.flac", "audio"), ("audio.ogg", "ogg")):
        await app.artifacts.aput(name, SOUND, type=type, path=f"{call.id}/{name}", **told)
    jobs = pipeline.flow(call).jobs()
    connection.execute(
        "insert into calls.calls (id, org_id, file_name, content_type, size, job_id) values (%s, %s, '', '', 0, %s)",
        [call.id, ACME, jobs[0].id],
    )
    await app.aenqueue_many(jobs)


@pytest.mark.parametrize("calls", [50, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.time_limit(600)])])
async def test_calls_in_flight_need_only_as_many_slots_as_are_busy(
    url: str, tmp_path: Path, connect: Connect, calls: int
) -> None:
    connection, clerk = connect(), Patient(calls)
    # so that between two looks at a call there is time for the others
    interval = calls / 50
    watched = Watched(connection)
    async with Penstock(url, artifacts=tmp_path / "files", pool_size=POOL) as app:
        stages = Stages(app, clerk, Reader(), interval)
        pipeline = Pipeline(app, stages, max_polls=100_000)
        app.middleware(watched)
        app.add_migrations("calls", files(recipe) / "migrations")
        await asyncio.to_thread(app.migrate)
        for _ in range(calls):
            await begin(app, pipeline, connection)
        async with working(app, {"calls": SLOTS, "calls_audio": SLOTS}):
            while connection.execute("select from penstock.jobs limit 1").rowcount:
                watched.look_around()
                await asyncio.sleep(0.1)
    ended = "select kind, count(*) from penstock.history where state = 'succeeded' group by kind order by kind"
    assert connection.execute(ended.encode()).fetchall() == [
        (kind, calls) for kind in ("analyze", "extract_audio", "transcribe_poll", "transcribe_start")
    ]
    assert len(clerk.asked) == calls
    assert watched.waiting >= 0.8 * calls
    assert watched.busy <= 2 * SLOTS
    # those of the pool and some of the worker's own, two threads for each slot; however many calls wait
    assert watched.connections <= POOL + 10
    assert watched.threads <= 20
