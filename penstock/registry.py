"""What an application consists of, for the worker that runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.cron import Schedule
from penstock.failure import FailureHook
from penstock.handler import Handler
from penstock.middleware import Middleware
from penstock.storage import Storage


@dataclass(frozen=True, slots=True)
class Registry:
    handlers: Mapping[str, Handler[..., Any]]
    middleware: Sequence[Middleware]
    schedules: Sequence[Schedule]
    storage: Storage | None = None
    failure_hooks: Sequence[FailureHook] = ()
    queues: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the code says of its queues."""

    def batch_size(self, queue: str) -> int:
        """How many jobs a slot of the queue may take at once."""
        sizes = [handler.options.batch or 1 for handler in self.handlers.values() if handler.options.queue == queue]
        return max(sizes, default=1)
