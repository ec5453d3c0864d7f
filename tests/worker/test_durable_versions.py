"""What began with one version of a handler is left to workers of that version, whatever the other one would do."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from penstock import Context, InvalidInput, Penstock, SyncContext
from penstock.job import Job
from penstock.testing import FakeClock, adrain

charged: list[str] = []


async def pay_at_once() -> str:
    charged.append("async")
    return "async"


def pay_in_a_thread(ctx: SyncContext) -> str:
    charged.append("sync")
    return "sync"


async def pay_before_its_first_step(ctx: Context) -> str:
    charged.append("before")
    return await ctx.step("receipt", str, "before")


def pay_in_a_process() -> str:
    return "process"


async def _job(app: Penstock, id: UUID) -> Job:
    job = await app.jobs.aget(id)
    assert job is not None
    return job


@pytest.mark.parametrize("version", [2, None])
@pytest.mark.parametrize(
    "function",
    [pay_at_once, pay_in_a_thread, pay_before_its_first_step, pay_in_a_process],
    ids=lambda each: each.__name__,
)
async def test_a_handler_that_takes_no_steps_any_more_does_not_run_what_began_with_them(
    app: Penstock, url: str, function: Callable[..., Any], version: int | None
) -> None:
    charged.clear()

    @app.job(kind="pay", version=1)
    async def pay(ctx: Context) -> str:
        charged.append(await ctx.step("charge", str, "first"))
        await ctx.sleep(60)
        return "first"

    async with Penstock(url) as another:
        another.job(kind="pay", version=version, isolate=function is pay_in_a_process)(function)
        with FakeClock(app) as clock:
            handle = await pay.aenqueue()
            await adrain(app)
            clock.move(minutes=2)
            await adrain(another)
            job = await _job(app, handle.id)
            assert (job.state, charged) == ("scheduled", ["first"])
            assert job.parked_reason == (
                f"it began with version 1 of its handler, and this worker has {version or 'none'}"
            )
            clock.move(minutes=2)
            await adrain(app)
            assert (await handle.aresult(5), charged) == ("first", ["first", "first"])


@pytest.mark.parametrize("version", [0, -1, True, "2", 1.5, 2**31])
def test_a_version_that_steps_could_not_be_compared_by_is_refused(app: Penstock, version: Any) -> None:
    with pytest.raises(InvalidInput, match=f"version: must be a whole number from 1 to 2147483647, not {version!r}"):
        app.job(kind="pay", version=version)(pay_at_once)
