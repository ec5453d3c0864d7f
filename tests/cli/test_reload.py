"""What `penstock up --reload` does with its command and with signals."""

import asyncio
import sys
from pathlib import Path

import pytest

from penstock.cli.reload import Reloader
from tests.kit.until import soon, until

NOTES_SIGNALS = """
import signal, sys, time
from pathlib import Path

folder = Path(sys.argv[1])
said = (folder / "said").open("a", buffering=1)
signal.signal(signal.SIGTERM, lambda *_: said.write("told "))
said.write("begun ")
said.flush()
while not (folder / "go").exists():
    time.sleep(0.01)
    said.flush()
"""


@pytest.mark.parametrize("presses", [1, 2])
async def test_one_ctrl_c_while_a_change_is_ending_it_leaves_its_jobs_their_time(tmp_path: Path, presses: int) -> None:
    """A second signal would end them at once, as a second Ctrl-C is meant to."""
    said, changed = tmp_path / "said", asyncio.Event()
    (tmp_path / "tasks.py").touch()
    reloader = Reloader(
        [sys.executable, "-c", NOTES_SIGNALS, str(tmp_path)], tmp_path, lambda what, _: changed.set()
    )  # fmt: skip
    running = asyncio.create_task(reloader.run())
    await until(lambda: said.exists() and said.read_text() == "begun ")
    (tmp_path / "tasks.py").write_text("changed")
    await soon(changed.wait())
    await until(lambda: said.read_text() == "begun told ")
    for _ in range(presses):
        reloader.stop()
    if presses == 2:
        await until(lambda: said.read_text() == "begun told told ")
    (tmp_path / "go").touch()
    assert await soon(running) == 0
    assert said.read_text() == "begun " + presses * "told "


async def test_one_ctrl_c_while_it_is_being_started_ends_it(tmp_path: Path) -> None:
    reloader = Reloader([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, lambda *_: None)
    running = asyncio.create_task(reloader.run())
    await asyncio.sleep(0)
    reloader.stop()
    assert await soon(running) == 0
