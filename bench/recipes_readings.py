"""A whole reading, 50 jobs, over HTTP with one worker process: how long it takes, and how much of that is Penstock.

Measured twice. With one slot for everything, what the wall clock shows beyond the sum of the handlers' own times is
what the engine adds: claiming, completing, waking, rolling up. A handler's own time is from its call to its return,
with what it waits for itself: the outputs it reads, the files it stores. And with slots for each stage, as it is run.
"""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from penstock import JobContext, embedded
from penstock.middleware import CallNext
from penstock.server.auth import mint
from penstock_recipes.readings import make_app
from penstock_recipes.readings.demo import PARAMS
from penstock_recipes.readings.jobs import QUEUES

FOLDER = Path(".cache") / "bench-recipes-postgres"
KEY = "a-service-key-of-the-benchmark"
SECRET = "a-secret-of-the-benchmark-of-32-bytes"
BUDGET = {"readings_overhead_percent": 10.0}
"""What the recipe allows itself; none may be more."""
ROUNDS = 2
JOBS = 50

app = make_app(
    queues=dict.fromkeys(QUEUES, os.environ["BENCH_QUEUE"]) if "BENCH_QUEUE" in os.environ else QUEUES, per_day=None
)


@app.middleware
async def time_handlers(ctx: JobContext, call_next: CallNext) -> object:
    """A line for each call: its kind and its seconds."""
    start = time.perf_counter()
    try:
        return await call_next()
    finally:
        took = time.perf_counter() - start
        with Path(os.environ["BENCH_TIMES"]).open("a") as file:  # noqa: ASYNC230
            file.write(f"{ctx.kind} {took}\n")


def measure() -> dict[str, Any]:
    alone = _readings({"BENCH_QUEUE": "readings"}, "readings:1")
    beside = _readings({}, "readings:1,readings_text:16,readings_pdf:2,readings_audio:2")
    # the worst: the round with the most of the engine in it
    seconds, handlers = max(alone, key=lambda each: each[0] / each[1])
    return {
        "readings_jobs": JOBS,
        "readings_one_slot_s": round(seconds, 2),
        "readings_handlers_s": round(handlers, 2),
        "readings_overhead_percent": round(100 * (seconds / handlers - 1), 2),
        "readings_overhead_ms_per_job": round(1000 * (seconds - handlers) / JOBS, 2),
        "readings_slots_for_each_stage_s": round(max(seconds for seconds, _ in beside), 2),
    }


def _readings(choices: dict[str, str], queues: str) -> list[tuple[float, float]]:
    """For each of some readings: seconds from the request to the end, and of its handlers."""
    with (
        embedded.start(FOLDER) as postgres,
        tempfile.TemporaryDirectory() as files,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        port = free.getsockname()[1]
        free.close()
        times = Path(files) / "times"
        environment = os.environ | choices
        environment |= {
            "DATABASE_URL": postgres.url,
            "PENSTOCK_ARTIFACTS": f"{files}/artifacts",
            "PENSTOCK_SERVICE_KEY": KEY,
            "PENSTOCK_JWT_SECRET": SECRET,
            "BENCH_TIMES": str(times),
        }
        with make_app(postgres.url, per_day=None) as migrating:
            migrating.migrate()
        with (
            _running(environment, "server", "bench.recipes_readings:app", "--port", str(port)),
            _running(environment, "worker", "bench.recipes_readings:app", "--queues", queues, "--no-log-jobs"),
        ):
            return asyncio.run(_measure(f"http://127.0.0.1:{port}", times))


@contextmanager
def _running(environment: dict[str, str], *command: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", *command], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def _measure(base: str, times: Path) -> list[tuple[float, float]]:
    headers = {"Authorization": f"Bearer {mint(SECRET, subject='ada')}"}
    found = []
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as client:
        await _until_ready(client)
        await _read(client)  # the first one also waits for the worker to start
        for _ in range(ROUNDS):
            times.write_text("")  # noqa: ASYNC240
            seconds = await _read(client)
            calls = [float(line.split()[1]) for line in times.read_text().splitlines()]  # noqa: ASYNC240
            assert len(calls) == JOBS, len(calls)
            found.append((seconds, sum(calls)))
    return found


async def _until_ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                if (await client.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)


async def _read(client: httpx.AsyncClient) -> float:
    """Seconds from the request for a reading to the event that it is complete."""
    start = time.perf_counter()
    answer = await client.post("/api/jobs/start", json={"type": "nuclear_v2", "params": PARAMS})
    answer.raise_for_status()
    async with client.stream("GET", f"/api/jobs/{answer.json()['id']}/stream", timeout=600) as events:
        async for line in events.aiter_lines():
            if line == "event: succeeded":
                return time.perf_counter() - start
    raise RuntimeError("the reading did not end well")


if __name__ == "__main__":
    results = measure()
    for name, value in results.items():
        print(f"{name:32} {value:8}  {'of ' + str(BUDGET[name]) if name in BUDGET else ''}")
    if any(results[name] > most for name, most in BUDGET.items()):
        raise SystemExit("over the budget")
