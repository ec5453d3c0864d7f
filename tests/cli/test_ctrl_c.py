"""Ctrl-C as a terminal sends it, to programs on a real one: jobs get their grace, and nobody sees a traceback."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from penstock import JobHandle, JobState, NewJob, Penstock
from tests.kit.until import wait_until

APP = """
import time
from pathlib import Path
from penstock import Penstock, SyncContext

app = Penstock()
here = Path(__file__).parent
(here / "page").mkdir(exist_ok=True)
(here / "page" / "index.html").write_text("<!doctype html>")
app.add_page("/waiting", here / "page", title="Waiting")

@app.job(max_attempts=3)
def wait(ctx: SyncContext, name: str) -> str:
    (here / f"{name}.started").touch()
    while not (here / name).exists():
        time.sleep(0.01)
    return "done"
"""
COMMAND = [sys.executable, "-c", "from penstock_command import main; main()"]


class Terminal:
    """A program in the foreground of a terminal of its own, whose keys we press."""

    def __init__(self, folder: Path, url: str | None, *arguments: str, command: Sequence[str] = COMMAND) -> None:
        self.folder = folder
        self._keyboard, inside = os.openpty()
        os.set_blocking(self._keyboard, False)
        self._shown = b""
        keep = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        keep |= {"COLUMNS": "200", "NO_COLOR": "1"} | ({"DATABASE_URL": url} if url else {})
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=folder, env=keep,
            preexec_fn=lambda: os.login_tty(inside), close_fds=False,
        )  # fmt: skip
        os.close(inside)

    @property
    def shows(self) -> str:
        try:
            while piece := os.read(self._keyboard, 65536):
                self._shown += piece
        except OSError:  # nothing more, or nobody is there any more
            pass
        return self._shown.decode()

    def press_ctrl_c(self) -> None:
        os.write(self._keyboard, b"\x03")

    def until_it_shows(self, text: str, within: float = 30.0) -> None:
        wait_until(lambda: re.search(text, self.shows) or self.process.poll() is not None, within)
        assert re.search(text, self.shows), self.shows

    def wait(self, within: float = 20.0) -> int:
        wait_until(lambda: self.shows and self.process.poll() is not None, within)
        return self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._keyboard)


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    (tmp_path / "waiting.py").write_text(APP)
    started: list[Terminal] = []
    yield started
    for terminal in started:
        terminal.end()


@pytest.fixture
def app(url: str) -> Iterator[Penstock]:
    with Penstock(url) as app:
        app.job(kind="wait")(lambda name: None)
        yield app


def start_a_job(app: Penstock, folder: Path, name: str) -> JobHandle[object]:
    job = app.enqueue(NewJob(kind="wait", args=f'{{"name": "{name}"}}'.encode(), max_attempts=3))
    wait_until(lambda: (folder / f"{name}.started").exists(), 30)
    return job


def test_one_ctrl_c_on_up_lets_jobs_finish(tmp_path: Path, url: str, app: Penstock, terminals: list[Terminal]) -> None:
    terminals.append(up := Terminal(tmp_path, url, "up", "waiting:app", "--port", "0", "--grace", "25"))
    job = start_a_job(app, tmp_path, "a")
    up.until_it_shows(r"waiting .*http://127.0.0.1:\d+/waiting#sign-in=[\w-]{22}\s")
    up.press_ctrl_c()
    up.until_it_shows("25 s to finish")
    (tmp_path / "a").touch()
    assert up.wait() == 0
    assert job.result(1) == "done"
    for word in ("warning", "error", "Traceback", "given back"):
        assert word not in up.shows


def test_a_second_ctrl_c_on_up_ends_at_once(tmp_path: Path, url: str, app: Penstock, terminals: list[Terminal]) -> None:
    terminals.append(up := Terminal(tmp_path, url, "up", "waiting:app", "--port", "0", "--grace", "600"))
    job = start_a_job(app, tmp_path, "b")
    workers = psutil.Process(up.process.pid).children(recursive=True)
    up.press_ctrl_c()
    up.until_it_shows("to finish")
    up.press_ctrl_c()
    assert up.wait(10) == 3
    assert (job.refresh().state, job.refresh().attempt) == (JobState.READY, 0)
    assert not psutil.wait_procs(workers, timeout=5)[1]
    assert "Traceback" not in up.shows


@pytest.mark.parametrize(
    ("command", "moment"),
    [
        ("up", "penstock.errors"),
        ("up", "something_of_the_application"),
        ("up", "penstock.server.asgi"),
        ("worker", "penstock.cli.commands"),
        ("worker", "something_of_the_application"),
        ("server", "fastapi"),
        ("tick", "psycopg"),
        ("migrate", "typer"),
    ],
)
def test_ctrl_c_while_it_is_starting_shows_no_traceback(tmp_path: Path, url: str, command: str, moment: str) -> None:
    """The moment is told by the interpreter itself: when it has imported a module."""
    (tmp_path / "waiting.py").write_text(f"import something_of_the_application\n{APP}")
    (tmp_path / "something_of_the_application.py").touch()
    arguments = {"migrate": [], "up": ["waiting:app", "--port", "0"]}.get(command, ["waiting:app"])
    keys = {"DATABASE_URL": url, "PENSTOCK_SERVICE_KEY": "a-key-for-this-test-alone-0123456789"}
    said = []
    with subprocess.Popen(
        [COMMAND[0], "-X", "importtime", *COMMAND[1:], command, *arguments],
        cwd=tmp_path, env=os.environ | keys, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        (lasting := threading.Timer(20, process.kill)).start()
        for line in process.stderr:
            if not line.startswith("import time:"):
                said.append(line)
            elif line.rpartition("|")[2].strip() == moment:
                process.send_signal(signal.SIGINT)
        lasting.cancel()
    assert process.returncode in (0, 130, -signal.SIGINT)
    # a signal that came late: it has told what it does, indented, and in its log that it starts and stops
    assert [line for line in said if not line.startswith("    ") and '"level":"info"' not in line] == []


def test_reload_starts_again_when_a_file_changes_and_ends_with_one_ctrl_c(
    tmp_path: Path, url: str, app: Penstock, terminals: list[Terminal]
) -> None:
    terminals.append(up := Terminal(tmp_path, url, "up", "waiting:app", "--port", "0", "--reload", "--grace", "0.1"))
    (tmp_path / "c").touch()
    assert start_a_job(app, tmp_path, "c").result(20) == "done"
    (tmp_path / "waiting.py").write_text(APP.replace('"done"', '"done otherwise"'))
    up.until_it_shows(r"changed.*waiting\.py")
    (tmp_path / "d").touch()
    job = app.enqueue(NewJob(kind="wait", args=b'{"name": "d"}', queue="default", delay=0.0))
    wait_until(lambda: job.refresh().state is JobState.SUCCEEDED, 30)
    up.until_it_shows("(?s)api.*api")
    if job.result(1) == "done":  # the old one took it while it was told to stop
        assert start_a_job(app, tmp_path, "d").result(20) == "done otherwise"
    below = psutil.Process(up.process.pid).children(recursive=True)
    up.press_ctrl_c()
    assert up.wait() == 0
    assert not psutil.wait_procs(below, timeout=10)[1]
    assert "Traceback" not in up.shows
