"""Handlers that are cut off from Redis, also in processes of their own, which import them by name."""

from pathlib import Path

from penstock import Context, NewJob, SyncContext
from penstock.context import JobContext
from penstock.logs import current_job
from tests.kit.until import until, wait_until


def signs(folder: str) -> tuple[Path, Path, Path]:
    """That the handler has begun, that it is to go on, and that it has found Redis away."""
    return Path(folder, "began"), Path(folder, "go"), Path(folder, "tried")


def tell_when_away(ctx: JobContext, tried: Path) -> None:
    """The loops of a worker find that out as well, and are not meant."""
    outage = ctx._engine.outage  # noqa: SLF001
    begin = outage.begin

    def begin_and_tell(reason: str) -> None:
        if current_job.get(None) is not None:
            tried.touch()
        begin(reason)

    outage.begin = begin_and_tell  # type: ignore[method-assign]


def step_and_enqueue(ctx: SyncContext, folder: str) -> str:
    began, go, tried = signs(folder)
    began.touch()
    wait_until(go.exists)
    tell_when_away(ctx, tried)
    ctx.enqueue(NewJob(kind="after"))
    return ctx.step("number", lambda: f"of attempt {ctx.attempt}")


async def step_and_enqueue_async(ctx: Context, folder: str) -> str:
    began, go, tried = signs(folder)
    began.touch()
    await until(go.exists)
    tell_when_away(ctx, tried)
    ctx.enqueue(NewJob(kind="after"))
    return await ctx.step("number", lambda: f"of attempt {ctx.attempt}")
