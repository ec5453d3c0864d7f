"""Queues: their settings, and how much is in them."""

from typing import Any, Literal, TypedDict, Unpack

from penstock.backoff import Backoff
from penstock.engine import commands
from penstock.engine.commands import Queue
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput


class Settings(TypedDict, total=False):
    """The settings of a queue. None takes one away; times are in seconds."""

    paused: bool
    """None of its jobs starts."""
    max_running: int | None
    """How many of its jobs run at the same time, over all workers."""
    max_running_per_key: int | None
    """The same, of each `limit_key`."""
    rate: int | None
    """How many of its jobs start in any window of `rate_period`."""
    rate_per_key: int | None
    """The same, of each `limit_key`."""
    rate_period: float
    """The length of the window: one second by default."""
    fair_by: Literal["owner", "org", "limit_key"] | None
    """Whose jobs take turns."""
    backoff: Backoff | None
    """For jobs whose handler names none; `Backoff()` by default."""
    lease_length: float | None
    """How long a worker may be silent before it loses its jobs: 30 seconds by default."""
    keep: Literal["all", "failed"]
    """`failed` keeps no record of successes; `all` is the default."""
    parked_timeout: float | None
    """How long a job waits for a worker that knows its kind and arguments: three days by default."""


__all__ = ["Queue", "Queues", "Settings", "as_json"]

Listed = list[Queue]


class Queues:
    """`app.queues`: a queue exists as soon as a job names it; settings are optional.

    ```python
    app.queues.set("exports", max_running=3, rate=100, rate_period=60)
    app.queues.pause("exports")
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, *, most: int | None = None) -> Listed:
        """Every queue that has jobs or settings, with what is in it, counted no further than `most`."""
        return self._engine.run(commands.QueueStats() if most is None else commands.QueueOverview(most))

    async def alist(self, *, most: int | None = None) -> Listed:
        return await self._engine.arun(commands.QueueStats() if most is None else commands.QueueOverview(most))

    def set(self, name: str, **settings: Unpack[Settings]) -> None:
        """Changes settings: app.queues.set("exports", max_running=3, rate=100, rate_period=60)."""
        self._engine.run(commands.SetQueue(name, as_json(settings)))

    async def aset(self, name: str, **settings: Unpack[Settings]) -> None:
        await self._engine.arun(commands.SetQueue(name, as_json(settings)))

    def pause(self, name: str) -> None:
        """No job of the queue starts until `resume`; those that run go on."""
        self.set(name, paused=True)

    async def apause(self, name: str) -> None:
        await self.aset(name, paused=True)

    def resume(self, name: str) -> None:
        """Jobs of a paused queue start again."""
        self.set(name, paused=False)

    async def aresume(self, name: str) -> None:
        await self.aset(name, paused=False)


def as_json(settings: Settings) -> dict[str, Any]:
    for name, value in settings.items():
        if name not in Settings.__annotations__:
            raise InvalidInput(name, f"no such setting of a queue; there are {', '.join(Settings.__annotations__)}")
        if value is not None and (needed := _unmet(name, value)):
            raise InvalidInput(name, f"must be {needed}, not {value!r}")
    return {name: value.to_json() if isinstance(value, Backoff) else value for name, value in settings.items()}


def _unmet(name: str, value: object) -> str | None:
    """What a setting's value would have to be, if it is not: the engine checks ranges, but not by name what it cannot
    even read."""
    match name:
        case "max_running" | "max_running_per_key" | "rate" | "rate_per_key":
            fits = isinstance(value, int) and not isinstance(value, bool) and value < 2**31
            return None if fits else "a whole number"
        case "rate_period" | "lease_length" | "parked_timeout":
            fits = isinstance(value, int | float) and abs(value) <= 1e10
            return None if fits else "a number of seconds up to 1e10"
        case "paused":
            return None if isinstance(value, bool) else "true or false"
        case "fair_by":
            return None if value in ("owner", "org", "limit_key") else "owner, org or limit_key"
        case "keep":
            return None if value in ("all", "failed") else "all or failed"
        case "backoff":
            return None if isinstance(value, Backoff) else "a Backoff"
    return None
