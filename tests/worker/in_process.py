"""Handlers for processes of their own, which import them by name."""

import asyncio
import os
import signal
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from penstock import Context, Fail, NewJob, Snooze, SyncContext

setting = ContextVar("setting", default="unset")


@dataclass
class Point:
    x: int
    y: int


def mirror(point: Point) -> Point:
    return Point(point.y, point.x)


async def mirror_async(point: Point) -> Point:
    return Point(point.y, point.x)


def tell_process() -> int:
    return os.getpid()


def tell_setting() -> str:
    found = setting.get()
    setting.set("left behind")
    return found


def raise_error(message: str) -> None:
    raise LookupError(message)


def raise_fail(reason: str) -> None:
    raise Fail(reason)


def leave_python() -> None:
    raise SystemExit("leaving")


def refuse_to_say() -> object:
    return object()


def snooze_once(ctx: SyncContext) -> int:
    if ctx.job.snoozes == 0:
        try:
            ctx.snooze(0)
        except Exception:  # must not catch it
            return -1
    return ctx.job.snoozes


def return_snooze() -> Snooze:
    return Snooze(1000)


def wait_for_event(ctx: SyncContext, key: str) -> list[object]:
    before = ctx.step("process", os.getpid)
    ctx.sleep(0.01)
    return [before == ctx.step("process, again", os.getpid), ctx.wait_for("go", key=key)]


def take_in_steps(ctx: SyncContext) -> list[list[str]]:
    taken = []
    for number in range(3):
        taken.append(ctx.step(f"take {number}", lambda: [str(ctx.uuid()), str(ctx.now())]))
        ctx.sleep(0)
    return taken


async def take_in_tasks(ctx: Context) -> None:
    async def take() -> str:
        return str(ctx.uuid())

    await asyncio.gather(take(), take())


async def wait_in_a_task(ctx: Context) -> None:
    await asyncio.create_task(ctx.sleep(60))


async def wait_for_event_async(ctx: Context, key: str) -> list[object]:
    before = await ctx.step("process", os.getpid)
    await ctx.sleep(0.01)
    return [before == await ctx.step("process, again", os.getpid), await ctx.wait_for("go", key=key)]


def clean_up(ctx: SyncContext, noted: str) -> object:
    try:
        return ctx.wait_for("paid")
    finally:
        ctx.step("release", Path(noted).write_text, "released")


def exit_hard(code: int) -> None:
    os._exit(code)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def report(ctx: SyncContext) -> None:
    ctx.progress(10, "first")
    ctx.progress(90, "last")


def sleep_with_clean_up(started: Path, cleaned: Path) -> None:
    """Says which process it is in when it has started, and that it has cleaned up."""
    _tell(started)
    try:
        time.sleep(60)
    finally:
        _clean_up(cleaned)


async def sleep_with_clean_up_async(started: Path, cleaned: Path) -> None:
    _tell(started)
    try:
        await asyncio.sleep(60)
    finally:
        _clean_up(cleaned)


def refuse_to_stop(started: Path) -> None:
    _tell(started)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue


def wait_for(started: Path, go: Path) -> None:
    _tell(started)
    while not go.exists():
        time.sleep(0.005)


def write_note(ctx: SyncContext, text: str) -> None:
    with ctx.transaction() as connection:
        connection.execute("insert into notes values (%s)", [text])


def write_note_and_fail(ctx: SyncContext, text: str) -> None:
    with ctx.transaction() as connection:
        connection.execute("insert into notes values (%s)", [text])
    raise ValueError("after the block")


async def write_note_async(ctx: Context, text: str) -> None:
    async with ctx.transaction() as connection:
        await connection.execute("insert into notes values (%s)", [text])


def write_note_and_wait(ctx: SyncContext, started: Path, go: Path) -> None:
    with ctx.transaction() as connection:
        connection.execute("insert into notes values (%s)", [f"attempt {ctx.attempt}"])
    if ctx.attempt == 1:
        wait_for(started, go)


def enqueue_another(ctx: SyncContext) -> None:
    ctx.enqueue(NewJob(kind="another"))


def enqueue_another_and_wait(ctx: SyncContext, started: Path, go: Path) -> None:
    ctx.enqueue(NewJob(kind="another", queue="elsewhere"))
    wait_for(started, go)


def report_and_enqueue(ctx: SyncContext) -> None:
    ctx.progress(0, "Starting")
    ctx.progress(100, "Completed")
    ctx.enqueue(NewJob(kind="another", queue="elsewhere"))


def _clean_up(cleaned: Path) -> None:
    cleaned.write_text("cleaned")


def _tell(started: Path) -> None:
    fresh = started.with_suffix(".new")
    fresh.write_text(str(os.getpid()))
    fresh.rename(started)
