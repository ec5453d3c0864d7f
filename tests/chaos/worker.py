"""One worker: `python -m tests.chaos.worker PARENT URL FOLDER NAME LEASE`. Runs until it is killed."""

import asyncio
import logging
import sys
from pathlib import Path

from tests.chaos.handlers import make_app
from tests.chaos.ledger import Runs
from tests.chaos.programs import end_with_parent

SLOTS = 30


def own_queue(name: str) -> str:
    """A queue that only this worker serves, by which it can be asked whether it is well."""
    return f"only-{name}"


def main(parent: str, url: str, folder: str, name: str, lease: str) -> None:
    end_with_parent(int(parent))
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    app = make_app(url, Runs(Path(folder), name))
    asyncio.run(app.run_worker(queues={"default": SLOTS, own_queue(name): 1}, grace=2.0, lease=float(lease)))


if __name__ == "__main__":
    main(*sys.argv[1:])
