"""Running what a test has enqueued, without a worker."""

from collections.abc import Sequence
from datetime import datetime

from penstock.app import Penstock
from penstock.engine.commands import NextRunAt
from penstock.errors import InvalidInput
from penstock.testing.fake_clock import clock_of
from penstock.testing.inline import use_twin
from penstock.worker.own_loop import run_here
from penstock.worker.tick import TickResult

_BUDGET = 3600.0
"""Seconds: a test that hangs is ended by whoever runs the tests."""


# by hand: it has an event loop of its own
def drain(
    app: Penstock, queue: str | Sequence[str] | None = None, limit: int = 1000, *, until_idle: bool = False
) -> list[TickResult]:
    """Runs jobs until none is ready, at most `limit` runs: follow-ups, flows and retries that are due included.

    Each queue has one run at a time, in the order that a worker would claim. `until_idle` goes on to what is scheduled
    for later, and moves the database's FakeClock there.

    ```python
    from penstock.testing import drain

    job = greet.enqueue("Ada")
    drain(app)
    assert job.result() == "hello Ada"
    ```
    """
    return run_here(lambda: adrain(app, queue, limit, until_idle=until_idle), use_twin("adrain"))


async def adrain(
    app: Penstock, queue: str | Sequence[str] | None = None, limit: int = 1000, *, until_idle: bool = False
) -> list[TickResult]:
    if until_idle and clock_of(app) is None:
        raise InvalidInput("until_idle", "moves the clock, so it needs one to move: with FakeClock(app): …")
    done: list[TickResult] = []
    while len(done) < limit:
        queues = dict.fromkeys(await _names(app, queue), 1)
        ran = await app.atick(limit - len(done), _BUDGET, queues)
        done += ran
        if not ran and not (until_idle and await _move_to_next(app)):
            break
    return done


async def _names(app: Penstock, queue: str | Sequence[str] | None) -> Sequence[str]:
    if queue is not None:
        return [queue] if isinstance(queue, str) else queue
    # those of the handlers too: a schedule that fires may be the first to put a job there
    declared = [app.handler(kind).options.queue for kind in app.kinds]
    return [*declared, *(each.name for each in await app.queues.alist())] or ["default"]


async def _move_to_next(app: Penstock) -> bool:
    """Lets time pass until the next scheduled job is due; whether there is one."""
    clock = clock_of(app)
    due: datetime | None = await app.engine.arun(NextRunAt())
    if clock is None or due is None or due <= clock.now:
        return False
    clock.set(due)
    return True
