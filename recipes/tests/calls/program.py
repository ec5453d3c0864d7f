"""Workers of the recipe in processes of their own, which die by SIGKILL at a given point.

It loads everything once and forks for each worker. A line of JSON on its input is a command: {"run": […]} answers with
the process, {"end": pid, "kill": bool} with how it ended.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from calls.providers import Clerk, Reader
from penstock import Backoff, Context, JobContext, Penstock
from penstock.middleware import CallNext
from penstock.storage import Store, Written, store_at
from penstock_recipes.calls import install
from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.jobs import STAGES

FILES = dict(zip(STAGES, ("audio.flac", "audio.ogg", "transcript.json", "analysis.json"), strict=True))
"""What each stage stores."""
_MORE = {
    "extract_audio": ("before raw is removed", "after raw is removed"),
    "transcribe_start": ("provider begun",),
    "transcribe_poll": ("before audio.ogg is removed", "after audio.ogg is removed"),
}
POINTS = [
    f"{stage}: {moment}"
    for stage in STAGES
    for moment in ("begun", "file stored", *_MORE.get(stage, ()), "returned", "completed")
]
"""In the order in which a call comes to them."""


class Doom:
    """Dies when its point is reached."""

    def __init__(self, point: str) -> None:
        self._point = point

    def reach(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


class DeadlyStore:
    """A store that takes the process with it."""

    def __init__(self, inner: Store, doom: Doom) -> None:
        self._inner = inner
        self._doom = doom

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def aput(self, path: str, data: bytes | AsyncIterator[bytes], **options: Any) -> Written:
        written = await self._inner.aput(path, data, **options)
        for stage, name in FILES.items():
            if path.endswith(name):
                self._doom.reach(f"{stage}: file stored")
        return written

    async def adelete(self, path: str) -> None:
        name = path.rpartition("/")[2]
        for stage in STAGES:
            self._doom.reach(f"{stage}: before {name} is removed")
        await self._inner.adelete(path)
        for stage in STAGES:
            self._doom.reach(f"{stage}: after {name} is removed")


class DeadlyClerk(Clerk):
    def __init__(self, doom: Doom) -> None:
        super().__init__(polls=1)
        self._doom = doom

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:
        operation = await super().start(audio, name=name, facts=facts)
        self._doom.reach("transcribe_start: provider begun")
        return operation


def doomed_app(url: str, jobs: str | None, files: str, point: str) -> Penstock:
    doom = Doom(point)
    app = Penstock(url, jobs=jobs, artifacts=cast(Store, DeadlyStore(store_at(files), doom)))
    install(app, transcriber=DeadlyClerk(doom), analyst=Reader(), poll_interval=0.01, backoff=Backoff.constant(0.01))

    @app.middleware
    async def die(ctx: JobContext, call_next: CallNext) -> Any:
        doom.reach(f"{ctx.kind}: begun")
        result = await call_next()
        if type(result).__name__ != "Snooze":
            doom.reach(f"{ctx.kind}: returned")
        return result

    complete = Context.complete

    async def complete_and_die(ctx: Context, output: bytes | None) -> bool:
        accepted = await complete(ctx, output)
        doom.reach(f"{ctx.kind}: completed")
        return accepted

    Context.complete = complete_and_die  # type: ignore[method-assign, assignment]
    return app


def fork_worker(url: str, jobs: str | None, files: str, point: str) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            tempfile.tempdir = str(Path(files).parent)
            app = doomed_app(url, jobs, files, point)
            asyncio.run(app.run_worker(dict.fromkeys(app.queue_names, 2)))
        finally:
            os._exit(1)
    return pid


def end(pid: int, kill: bool) -> int:
    if kill:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    # what this imports is there for all who are forked; it opens nothing
    with tempfile.TemporaryDirectory() as folder:
        doomed_app("postgresql://nowhere", "redis://nowhere", folder, "")
    for line in sys.stdin:
        command = json.loads(line)
        answer = fork_worker(*command["run"]) if "run" in command else end(command["end"], command["kill"])
        print(answer, flush=True)


if __name__ == "__main__":
    main()
