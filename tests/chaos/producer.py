"""Commits jobs in transactions of its own: `python -m tests.chaos.producer PARENT URL FOLDER NAME SEED`.

Some it rolls back on purpose. What became of each it writes to its ledger, and goes on until its stdin ends.
"""

import os
import random
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from penstock import NewJob
from tests.chaos.handlers import make_app
from tests.chaos.ledger import Fate, Fates
from tests.chaos.programs import end_with_parent

TIMEOUT = 3.0
PAUSE = (0.02, 0.2)
"""Seconds between transactions. Three producers make about 100 jobs a second, a third of what the workers can do: what
piles up while nobody works must be worked off within the ten seconds that are allowed."""

KINDS = {"swift": 43, "threaded": 15, "paid": 15, "paid_in_thread": 10, "shaky": 8, "slow": 5, "doomed": 4}


class Producer:
    def __init__(self, url: str, folder: Path, name: str, seed: int) -> None:
        self.stopping = threading.Event()
        self._url = url
        self._dice = random.Random(seed)
        self._app = make_app(url)
        self._fates = Fates(folder, name)
        self._connection: psycopg.Connection[Any] | None = None

    def run(self) -> None:
        while not self.stopping.wait(self._dice.uniform(*PAUSE)):
            jobs = [self._job() for _ in range(self._dice.choice((1, 1, 1, 2, 5, 40)))]
            self._fates.write(self._enqueue(jobs), [job.id for job in jobs])
        if self._connection is not None:
            self._connection.close()

    def _job(self) -> NewJob:
        [kind] = self._dice.choices(list(KINDS), list(KINDS.values()))
        # on both sides of the line from which on arguments are kept beside their job
        return self._app.prepare(kind, {"load": kind * self._dice.choice((0, 1000))})

    def _enqueue(self, jobs: list[NewJob]) -> Fate:
        wanted = self._dice.random() < 0.85
        committing = False
        try:
            connection = self._connect()
            with giving_up_after(TIMEOUT, connection):
                self._app.enqueue_many(jobs, connection=connection)
                if not wanted:
                    connection.rollback()
                    return "rolled back"
                committing = True
                connection.commit()
            return "committed"
        except psycopg.Error as error:
            if self._connection is not None:
                self._connection.close()
            print(f"{'commit' if committing else 'enqueue'}: {error}".strip(), file=sys.stderr)
            # an error that the server itself reports leaves no doubt; a pooler's may be of a server that it has lost
            return "maybe" if committing and _is_of_the_connection(error) else "rolled back"

    def _connect(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            # a pooler gives each transaction another session
            self._connection = psycopg.connect(self._url, prepare_threshold=None)
        return self._connection


def _is_of_the_connection(error: psycopg.Error) -> bool:
    return error.sqlstate is None or error.sqlstate.startswith("08")


@contextmanager
def giving_up_after(seconds: float, connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Ends the connection from our side when the other has fallen silent: libpq waits for ever."""
    wire = socket.socket(fileno=os.dup(connection.fileno()))

    def give_up() -> None:
        with suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        wire.close()


def main(parent: str, url: str, folder: str, name: str, seed: str) -> None:
    end_with_parent(int(parent))
    producer = Producer(url, Path(folder), name, int(seed))

    def stop_at_the_end() -> None:
        sys.stdin.read()
        producer.stopping.set()

    threading.Thread(target=stop_at_the_end, daemon=True).start()
    producer.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
