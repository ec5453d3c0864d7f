"""Databases for tests, made while the tests before them run: making one takes longer than many a test."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle

import psycopg

from penstock.testing.database import copied

AHEAD = 2
THREADS = 2

Made = tuple[str, ExitStack]


class DatabasesAhead:
    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template
        # to connect for each would take a fifth of the time
        self._connections = [psycopg.connect(server, autocommit=True, prepare_threshold=None) for _ in range(THREADS)]
        self._turns = cycle(self._connections)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="databases for tests")
        self._ready: deque[Future[Made]] = deque()
        for _ in range(AHEAD):
            self._order()

    def take(self) -> Made:
        """The address of a fresh database, and what drops it."""
        self._order()
        return self._ready.popleft().result()

    def give_back(self, made: Made) -> None:
        self._threads.submit(made[1].close)

    def close(self) -> None:
        for future in self._ready:
            self.give_back(future.result())
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _order(self) -> None:
        self._ready.append(self._threads.submit(self._make))

    def _make(self) -> Made:
        stack = ExitStack()
        return stack.enter_context(copied(next(self._turns), self._server, self._template)), stack
