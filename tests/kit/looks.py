"""The looks for work that go through an engine: what a test waits for before it says that something was not taken."""

from collections import Counter
from collections.abc import Awaitable
from typing import Any

import pytest

from penstock.engine import commands
from penstock.engine.protocol import Engine
from tests.kit.until import until


class Looks:
    """From here on, and until the test ends."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: Counter[str] = Counter()
        """How many began, by queue."""
        self._ended: Counter[str] = Counter()
        """The latest that ended."""
        arun = engine.arun

        async def note_looks(call: Any) -> Any:
            if not isinstance(call, commands.Claim):
                return await arun(call)
            self.begun[call.queue] += 1
            number = self.begun[call.queue]
            result = await arun(call)
            self._ended[call.queue] = max(number, self._ended[call.queue])
            return result

        monkeypatch.setattr(engine, "arun", note_looks)

    def another(self, queue: str = "default") -> Awaitable[bool]:
        """Wait for it: a look that begins after this call, and ends."""
        begun = self.begun[queue]
        return until(lambda: self._ended[queue] > begun, what=f"another look at {queue}")

    def none(self, queue: str = "default") -> Awaitable[bool]:
        """Wait for it: nobody looks just then."""
        return until(lambda: self._ended[queue] == self.begun[queue], what=f"no look at {queue}")
