"""Run without any extra: does what the core can do, tries what it cannot, and prints what came of it."""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Callable

import psycopg

from penstock import Penstock
from penstock.embedded import EmbeddedError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
app = Penstock()


@app.job
async def double(number: int) -> int:
    return 2 * number


def tries() -> dict[str, Callable[[], object]]:
    nowhere = "postgresql:///nowhere"
    return {
        "the server": lambda: importlib.import_module("penstock.server"),
        "asgi": lambda: app.asgi(),
        "a worker's metrics": lambda: importlib.import_module("penstock.worker.metrics"),
        "push": lambda: app.push("hook", "https://example.com/", secret=SECRET),
        "waker": lambda: app.waker("http://127.0.0.1:1/", ["default"]),
        "a worker over the API": lambda: asyncio.run(app.run_worker({}, api="http://127.0.0.1:1", key="k" * 40)),
        "outbound": lambda: importlib.import_module("penstock.outbound"),
        "a folder": lambda: Penstock(nowhere, artifacts="here").artifacts.storage.store,
        "s3": lambda: Penstock(nowhere, artifacts="s3://bucket").artifacts.storage.store,
        "sentry": lambda: importlib.import_module("penstock.interop.sentry"),
        "opentelemetry": lambda: importlib.import_module("penstock.interop.opentelemetry"),
        "jobs on Redis": lambda: Penstock("redis://127.0.0.1:1"),
        "no database": lambda: Penstock("", folder="empty").url(),
    }


async def work() -> list[int]:
    """Enqueues, runs a worker, and reads what it made."""
    jobs = await double.aenqueue_many([{"number": number} for number in (1, 2, 3)])
    worker = asyncio.create_task(app.run_worker())
    results = [await job.aresult(timeout=30) for job in jobs]
    worker.cancel()
    await asyncio.wait([worker])
    await app.aclose()
    return results


def main() -> None:
    results = asyncio.run(work())
    double.enqueue(number=21)
    ticked = [result.state for result in app.tick()]
    app.close()
    del os.environ["DATABASE_URL"]
    told = {}
    for name, attempt in tries().items():
        try:
            attempt()
        except (ImportError, EmbeddedError) as error:
            told[name] = [type(error).__name__, str(error)]
    json.dump({"implementation": psycopg.pq.__impl__, "results": results, "ticked": ticked, "told": told}, sys.stdout)


if __name__ == "__main__":
    main()
