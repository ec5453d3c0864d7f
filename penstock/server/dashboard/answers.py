"""Answers of the database that pages share: what many look at is asked for once a second."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from penstock.engine.commands.command import Command
from penstock.server.dashboard.reader import Reader

T = TypeVar("T")

FRESH = 0.9
"""Seconds that an answer is good for, unless it says otherwise."""
_KEPT = 1000


class SharedAnswers:
    """Runs commands that only read. `count` is how many it has run."""

    def __init__(self, reader: Reader, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self._reader = reader
        self._clock = clock
        self._answers: dict[bytes, tuple[float, asyncio.Future[Any]]] = {}

    async def run(self, command: Command[T], *, fresh: bool, good_for: float = FRESH) -> T:
        """The answer of these seconds, if there is one. `fresh` asks in any case; others may then have the answer."""
        key = type(command).__name__.encode() + msgspec.json.encode(command)
        now = self._clock()
        known = self._answers.get(key)
        if not fresh and known is not None and now < known[0]:
            answer: T = await asyncio.shield(known[1])
            return answer
        asked = asyncio.ensure_future(self._ask(command))
        self._forget(now)
        self._answers[key] = now + good_for, asked
        try:
            return await asyncio.shield(asked)
        except BaseException:
            self._answers.pop(key, None)
            raise

    async def _ask(self, command: Command[T]) -> T:
        self.count += 1
        return await self._reader.arun(command)

    def _forget(self, now: float) -> None:
        if len(self._answers) < _KEPT:
            old = [key for key, (until, _) in self._answers.items() if now >= until]
        else:
            old = list(self._answers)
        for key in old:
            del self._answers[key]
