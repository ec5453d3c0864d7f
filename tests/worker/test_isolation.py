"""Handlers in processes of their own. Each starts one, which takes half a second: as many promises as fit in a test."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import JobFailed, JobHandle, JobState, Penstock
from penstock.context import JobContext
from penstock.middleware import CallNext
from penstock.outcome import Suspended
from tests.kit.until import until
from tests.kit.working import working
from tests.worker import in_process
from tests.worker.in_process import Point

SOON = 30.0


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and is not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def is_gone(pid: int) -> bool:
    return not alive(pid)


async def test_a_process_serves_one_job_after_another_and_ends_with_the_worker(app: Penstock) -> None:
    tell = app.job(isolate=True)(in_process.tell_process)
    mirror = app.job(isolate=True)(in_process.mirror)
    mirror_async = app.job(isolate=True)(in_process.mirror_async)
    look = app.job(isolate=True)(in_process.tell_setting)
    async with working(app, {"default": 1}):
        first = await (await tell.aenqueue()).aresult(SOON)
        assert await (await mirror.aenqueue(Point(1, 2))).aresult(SOON) == Point(2, 1)
        assert await (await mirror_async.aenqueue(Point(3, 4))).aresult(SOON) == Point(4, 3)
        assert [await (await look.aenqueue()).aresult(SOON) for _ in range(2)] == ["unset", "unset"]
        assert await (await tell.aenqueue()).aresult(SOON) == first
        assert first != os.getpid()
    with pytest.raises(ProcessLookupError):  # gone and reaped
        os.kill(first, 0)


async def test_a_process_that_has_grown_gets_no_further_job(app: Penstock) -> None:
    tell = app.job(isolate=True)(in_process.tell_process)
    async with working(app, {"default": 1}) as worker:
        worker.limit_handlers(memory=2**40)
        small = {await (await tell.aenqueue()).aresult(SOON) for _ in range(2)}
        worker.limit_handlers(memory=1)
        large = {await (await tell.aenqueue()).aresult(SOON) for _ in range(2)}
        assert (len(small), len(large | small)) == (1, 2)
        for pid in large:
            await until(lambda pid=pid: is_gone(pid), within=SOON)  # type: ignore[misc]


async def test_endings_cross_the_border(app: Penstock) -> None:
    for name in ("raise_error", "leave_python", "refuse_to_say", "snooze_once", "return_snooze", "report"):
        app.job(isolate=True, max_attempts=1)(getattr(in_process, name))
    async with working(app, {"default": 1}):
        raised = await app.aenqueue(app.prepare("raise_error", {"message": "no such document"}))
        left = await app.aenqueue(app.prepare("leave_python", {}))
        unfit = await app.aenqueue(app.prepare("refuse_to_say", {}))
        polled = await app.aenqueue(app.prepare("snooze_once", {}))
        snoozed = await app.aenqueue(app.prepare("return_snooze", {}))
        reported = await app.aenqueue(app.prepare("report", {}))
        with pytest.raises(JobFailed, match="no such document"):
            await raised.aresult(SOON)
        with pytest.raises(JobFailed, match="leaving"):
            await left.aresult(SOON)
        with pytest.raises(JobFailed, match="its result cannot be stored"):
            await unfit.aresult(SOON)
        assert await polled.aresult(SOON) == 1
        await reported.aresult(SOON)
    [error] = (await raised.arefresh()).errors
    assert error["type"] == "LookupError"
    assert "in raise_error" in error["traceback"]
    assert (await left.arefresh()).errors[0]["type"] == "SystemExit"
    assert (await snoozed.arefresh()).state is JobState.SCHEDULED
    assert (await reported.arefresh()).progress == {"percent": 90, "message": "last"}


async def test_handlers_in_processes_wait_and_go_on_after_their_steps(app: Penstock) -> None:
    told: list[str] = []
    seen: list[object] = []
    app.on_end(lambda run: told.append(run.outcome))

    @app.middleware
    async def note(ctx: JobContext, call_next: CallNext) -> object:
        seen.append(await call_next())
        return seen[-1]

    for wait in (in_process.wait_for_event, in_process.wait_for_event_async):
        app.job(isolate=True)(wait)
        async with working(app, {"default": 1}):
            handle = await app.aenqueue(app.prepare(wait.__name__, {"key": wait.__name__}))

            async def is_blocked(handle: JobHandle[object] = handle) -> bool:
                return (await handle.arefresh()).state is JobState.BLOCKED

            await until(is_blocked, within=SOON)
            await app.aemit("go", key=wait.__name__, payload="gone")
            assert await handle.aresult(SOON) == [True, "gone"]
        # what is handed over while the run before it still has the slot goes back, and comes again
        assert [each for each in told if each != "released"] == ["suspended", "suspended", "succeeded"]
        assert seen == [Suspended("sleep"), Suspended(f"wait for go {wait.__name__}"), [True, "gone"]]
        told.clear()
        seen.clear()


async def test_a_process_that_dies_fails_its_job_and_the_worker_goes_on(app: Penstock) -> None:
    exit_hard = app.job(isolate=True, max_attempts=1)(in_process.exit_hard)
    kill_itself = app.job(isolate=True, max_attempts=1)(in_process.kill_itself)
    tell = app.job(isolate=True)(in_process.tell_process)
    async with working(app, {"default": 1}):
        exited = await exit_hard.aenqueue(7)
        killed = await kill_itself.aenqueue()
        after = await tell.aenqueue()
        with pytest.raises(JobFailed, match="its process died: exit code 7"):
            await exited.aresult(SOON)
        with pytest.raises(JobFailed, match="its process died: killed by SIGKILL"):
            await killed.aresult(SOON)
        assert await after.aresult(SOON) != os.getpid()


async def test_more_processes_run_at_once_than_the_machine_has_cores(app: Penstock, tmp_path: Path) -> None:
    many = (os.cpu_count() or 1) + 6
    handler = app.job(isolate=True)(in_process.wait_for)
    started = [tmp_path / f"{number}.started" for number in range(many)]
    async with working(app, {"default": many}):
        handles = [await handler.aenqueue(path, tmp_path / "go") for path in started]

        async def all_run() -> bool:
            return all(path.exists() for path in started)

        try:
            await until(all_run, within=60)
        finally:
            (tmp_path / "go").touch()
        for handle in handles:
            await handle.aresult(SOON)
    assert len({path.read_text() for path in started}) == many


PROGRAM = """
import asyncio, sys
from pathlib import Path
from penstock import Penstock
from tests.worker import in_process

app = Penstock(sys.argv[1])
handler = app.job(isolate=True)(in_process.refuse_to_stop)


async def main() -> None:
    await handler.aenqueue(Path(sys.argv[2]))
    await app.run_worker({"default": 1})


if __name__ == "__main__":
    asyncio.run(main())
"""


async def test_a_worker_that_is_killed_takes_its_processes_with_it(url: str, tmp_path: Path) -> None:
    program, started = tmp_path / "program.py", tmp_path / "started"
    program.write_text(PROGRAM)
    root = Path(__file__).parent.parent.parent
    worker = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs meanwhile
        [sys.executable, program, url, started], env=os.environ | {"PYTHONPATH": str(root)}, cwd=tmp_path
    )
    try:

        async def has_started() -> bool:
            assert worker.poll() is None
            return started.exists()

        await until(has_started, within=60)
    finally:
        worker.send_signal(signal.SIGKILL)
        await asyncio.to_thread(worker.wait)
    await until(lambda: is_gone(int(started.read_text())))
