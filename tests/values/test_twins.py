"""What is written for event loops and its sync twin are the same but for the waiting: scripts/twins writes the twin."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

from penstock import JobHandle
from penstock.storage import Store
from tests.docs.test_docstrings import PARTS

ROOT = Path(__file__).resolve().parent.parent.parent

SOURCE = '''"""Pools of anything."""

import asyncio


class Pool:
    def take(self, seconds: float) -> int:
        """Takes one."""
        return self._open(seconds).number

    async def atake(self, seconds: float) -> int:
        return (await self._aopen(seconds)).number

    def _open(self, seconds: float) -> "Connection": ...

    async def _aopen(self, seconds: float) -> "AsyncConnection":
        async with self._lock, AsyncConnection(seconds) as connection:
            async for each in connection.aeach():
                yield each

    # by hand: nobody waits here
    def close(self) -> None:
        self._lock.release()

    async def aclose(self) -> None:
        await asyncio.sleep(0)
'''
WRITTEN = """    def _open(self, seconds: float) -> "Connection":
        with self._lock, Connection(seconds) as connection:
            yield from connection.each()
"""


def twins(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "scripts" / "twins"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_every_sync_twin_is_what_the_script_makes_of_its_source() -> None:
    checked = twins("--check")
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr


def test_whatever_is_written_by_hand_says_why() -> None:
    texts = {file: file.read_text("utf-8") for file in (ROOT / "penstock").rglob("*.py")}
    comments = [(file.name, line) for file, text in texts.items() for line in re.findall(r"# by hand(.*)", text)]
    assert len(comments) > 20
    assert [(name, line) for name, line in comments if not re.match(r": \w+", line)] == []


def test_a_source_that_was_edited_alone_is_named_and_its_twin_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "package" / "pool.py"
    file.parent.mkdir()
    file.write_text(SOURCE + "\n\ndef each() -> None: ...\n")
    checked = twins("--check", file.parent)
    assert (checked.returncode, checked.stdout) == (1, "package/pool.py: run scripts/twins\n"), checked.stderr
    assert twins(file.parent).returncode == 0
    text = file.read_text()
    assert WRITTEN in text
    assert '"""Takes one."""\n        return self._open(seconds).number' in text, "a docstring is the twin's own"
    assert "        self._lock.release()" in text, "by hand is by hand"
    assert twins("--check", file.parent).returncode == 0


def test_whatever_asks_is_there_with_and_without_an_event_loop() -> None:
    """Of what an application leads to; these two ask nobody."""
    methods = {
        part: {name for name, _ in inspect.getmembers(part, inspect.isfunction) if not name.startswith("_")}
        for part in [*PARTS.values(), JobHandle, Store]
    }
    alone = [
        f"{part.__name__}.{name}"
        for part, names in methods.items()
        for name in names
        if not names & {f"a{name}", name.removeprefix("a")} - {name}
    ]
    assert sorted(alone) == ["Schedules.define", "Schedules.prepare"]
