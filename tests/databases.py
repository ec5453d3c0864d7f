"""Databases for tests, made while the tests before them run: making one takes longer than many a test."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from penstock.testing.database import throw_away

AHEAD = 2

Made = tuple[str, ExitStack]


class DatabasesAhead:
    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="databases for tests")
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

    def _order(self) -> None:
        self._ready.append(self._threads.submit(self._make))

    def _make(self) -> Made:
        stack = ExitStack()
        return stack.enter_context(throw_away(self._server, self._template)), stack
