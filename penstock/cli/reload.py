"""`penstock up --reload`: the same command again whenever the application's files change."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

LOOK_EVERY = 0.5
SUFFIXES = frozenset({".py", ".sql", ".toml", ".env"})
_NOT_OURS = frozenset({"__pycache__", "node_modules", "site-packages"})

Files = dict[str, int]


def files_below(folder: Path) -> Files:
    """The application's files and when each was changed; not of hidden folders, nor of virtual environments."""
    found: Files = {}
    for place, folders, names in os.walk(folder):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = [each for each in folders if each not in _NOT_OURS and not each.startswith(".")]
        for name in names:
            if Path(name).suffix in SUFFIXES:
                path = os.path.join(place, name)  # noqa: PTH118 (twice a second, for thousands of files)
                try:
                    found[path] = os.stat(path).st_mtime_ns  # noqa: PTH116
                except FileNotFoundError:
                    continue
    return found


class Reloader:
    """Runs a command, stops it gently when a file below the folder changes, and runs it again."""

    def __init__(self, command: Sequence[str], folder: Path, say: Callable[[str, str], None]) -> None:
        self._command = command
        self._folder = folder
        self._say = say
        self._stopping = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._told = False
        """Whether it was asked to end, gently: the next signal would end it at once."""

    async def run(self) -> int:
        """Until SIGTERM or SIGINT; the last exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        read_end, write_end = os.pipe()  # the command ends with us, whatever ends us
        try:
            while True:
                seen = files_below(self._folder)
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, "--tied-to", str(read_end), pass_fds=[read_end],
                    # a terminal's Ctrl-C comes to us alone
                    start_new_session=True,
                )  # fmt: skip
                self._told = False
                if self._stopping.is_set():  # while it was being started
                    self._terminate()
                code = await self._live(self._process, seen)
                if self._stopping.is_set():
                    return max(code, 0)  # a signal of ours may have come before it had begun
        finally:
            os.close(read_end)
            os.close(write_end)

    def stop(self) -> None:
        """Once: gently, also when a change is ending it already. Again: at once."""
        again = self._stopping.is_set()
        self._stopping.set()
        if again or not self._told:
            self._terminate()

    async def _live(self, process: asyncio.subprocess.Process, seen: Files) -> int:
        """Until it has ended and there is reason to start it again."""
        ending = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        changed = asyncio.create_task(self._change(seen))
        try:
            await asyncio.wait([ending, stopping, changed], return_when=asyncio.FIRST_COMPLETED)
            if ending.done() and not self._stopping.is_set():
                self._say("ended", f"with exit code {ending.result()}; it starts again when a file changes")
                await asyncio.wait([stopping, changed], return_when=asyncio.FIRST_COMPLETED)
            if changed.done() and not self._stopping.is_set():
                self._say("changed", changed.result())
                self._terminate()
            return await ending
        finally:
            stopping.cancel()
            changed.cancel()

    def _terminate(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._told = True
            self._process.send_signal(signal.SIGTERM)

    async def _change(self, seen: Files) -> str:
        """Which file is another than it was, is new or gone."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            found = files_below(self._folder)
            for path in found.keys() | seen.keys():
                if found.get(path) != seen.get(path):
                    return str(Path(path).relative_to(self._folder))
