"""`penstock top`: what it shows, how it obeys keys, and how it leaves the terminal."""

import io
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console
from uuid_utils.compat import uuid7

from penstock import Handler, Penstock
from penstock.cli import top
from penstock.cli.samples import Rates, Sample, Samples
from penstock.cli.screen import View, duration, keys, picture, rate, sparkline
from penstock.engine import commands
from penstock.engine.commands import LiveWorker, Queue, RunningJob
from penstock.errors import PenstockError
from penstock.job import Lease
from penstock.statistics import Runs, Times
from tests.cli.conftest import Command
from tests.kit.until import wait_until

NOW = datetime.now(UTC)


def queue(name: str, ready: int = 0, running: int = 0, oldest: float | None = None) -> Queue:
    return Queue(name, False, {}, 0, 0, ready, running, oldest)


def worker(number: int, jobs: int) -> LiveWorker:
    running = [RunningJob(uuid7(), f"kind{each}", "mail", 1, NOW, float(each), False) for each in range(jobs)]
    return LiveWorker(number, f"worker{number}", "host", number, ["mail"], NOW, NOW, running)


def drawn(samples: Samples, sample: Sample, view: View, width: int = 100, height: int | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height or 1000)
    console.print(picture(samples, sample, view, height), keys(view))
    return str(console.file.getvalue()).splitlines()  # type: ignore[attr-defined]


@pytest.fixture
def lease(app: Penstock, send: Handler[..., None]) -> Lease:
    """A worker that runs one job of mail, where two more are ready."""
    lease = app.engine.run(commands.OpenLease("busy", queues=["mail", "quiet"], host="here", pid=7))
    send.using(queue="mail").enqueue_many([{"to": "x"}] * 3)
    assert app.engine.run(commands.Claim(lease, "mail", 1))
    app.queues.pause("\x1b[31mred")
    return lease


@pytest.mark.usefixtures("lease")
def test_one_look_is_printed_for_people_and_for_scripts(penstock: Command) -> None:
    told = penstock.json("top")
    assert (told["ready"], told["running"], told["runs"], told["failures"]) == (2, 1, 0, 0)
    assert [each["name"] for each in told["queues"]] == ["\x1b[31mred", "mail", "quiet"]
    assert told["workers"][0]["running"][0]["kind"] == "send"
    for asked in (["--once"], []):  # no terminal is there
        lines = penstock.lines("top", *asked)
        assert lines[1].startswith("– runs/s   – failures/s   1 running   2 ready   1 worker")
        rows = [line.split() for line in lines]
        assert ["mail", "2", "1", "0", "0"] in [row[:5] for row in rows]
        assert ["\\x1b[31mred", "0", "0", "0", "0", "paused"] in rows
        assert ["busy", "here", "7", "1"] in [row[:4] for row in rows]
        assert ["send", "mail", "1"] in [row[1:4] for row in rows]


@pytest.mark.parametrize("height", [13, 24, 60])
def test_a_picture_never_is_higher_or_wider_than_the_terminal(height: int) -> None:
    samples = Samples()
    sample = Sample(
        0, [queue(f"queue{each}" * 9) for each in range(50)], [worker(each, 9) for each in range(9)], 0, 0, 0
    )
    samples.add(sample)
    lines = drawn(samples, sample, View("here", 2), width=60, height=height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= 60
    assert "more" in "".join(lines)
    assert len(drawn(samples, sample, View("here", 2))) > 50 + 9 + 81


def test_rates_are_of_the_last_ten_seconds_and_never_negative() -> None:
    samples = Samples()
    assert samples.rates == Rates(None, None)
    for second in range(0, 40, 2):
        # twice as fast in the second half
        samples.add(Sample(second, [], [], 10 * second + 10 * max(0, second - 20), 0, 0))
    assert samples.rates == Rates(20, 0)
    assert list(samples.speeds)[-1] == 20
    samples.add(Sample(100, [], [], 0, 0, 0))
    assert samples.rates.runs == 0
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert [rate(each) for each in (None, 0, 0.25, 99.96, 1234.5)] == ["–", "0", "0.2", "100.0", "1,234"]
    assert [duration(each) for each in (None, 1.25, 59, 61, 7322)] == ["", "1.2 s", "59 s", "1 min 1 s", "2 h 2 min"]


def test_what_workers_reported_of_the_last_minute_is_told() -> None:
    samples, sample = Samples(), Sample(0, [], [], 0, 0, 0)
    samples.add(sample)
    assert drawn(samples, sample, View("here", 2))[2] == "the last minute: no runs"
    minute = Runs(NOW, 7, 1, 2, 0, Times(0.1, 0.1, 0.5, 1), Times(1, 1, 72, 80))
    assert drawn(samples, replace(sample, last_minute=minute), View("here", 2), width=120)[2] == (
        "the last minute: 10 runs, 1 given up, 2 to be retried; of 100, 95 waited up to 0.5 s and ran up to 1 min 12 s"
    )


def test_queues_are_sorted_as_chosen() -> None:
    samples, sample = Samples(), Sample(0, [queue("a", 1, 3, 5), queue("b", 2, 1, 9), queue("c", 3, 2, 7)], [], 0, 0, 0)
    samples.add(sample)

    def order(sort: str) -> str:
        lines = drawn(samples, sample, View("here", 2, sort))
        return "".join(line[0] for line in lines if line[:2] in ("a ", "b ", "c "))

    assert [order(sort) for sort in ("name", "ready", "running", "oldest")] == ["abc", "cba", "acb", "bca"]


def test_a_queue_with_more_than_was_counted_says_so() -> None:
    samples, sample = Samples(), Sample(0, [Queue("a", False, {}, 0, 0, 10_000, 1, 5, exact=False)], [], 0, 0, 0)
    samples.add(sample)
    assert sum("10,000+" in line for line in drawn(samples, sample, View("here", 2))) == 2


@pytest.mark.usefixtures("lease")
def test_keys_pause_sort_and_end_it(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(top, "out", Console(file=written, force_terminal=True, width=100, height=30))
    samples, first, taken = Samples(), Sample(0, [queue("mail")], [], 0, 0, 0), 0
    samples.add(first)

    def take(app: Penstock) -> Sample:
        nonlocal taken
        taken += 1
        return replace(first, at=first.at + taken)

    monkeypatch.setattr(top, "take_sample", take)

    def press(keys: str) -> str:
        pressed = iter(keys)
        top.watch(app, samples, View("here", 0), lambda within: {".": None}.get(key := next(pressed), key))
        shown = written.getvalue()
        written.seek(0)
        written.truncate()
        return shown

    shown = press("..q")
    assert taken == 2
    # another screen that is left again, drawn over itself and never cleared: nothing flickers
    assert shown.startswith("\x1b[?1049h")
    assert shown.endswith("\x1b[?25h\x1b[?1049l")
    assert shown.count("\x1b[2J") == 0
    taken = 0
    shown = press("p..pq")
    assert "paused" in shown
    assert taken == 1  # when it went on
    assert "ready ▾" in press("sq")

    def unreachable(app: Penstock) -> Sample:
        raise PenstockError("the database is away")

    monkeypatch.setattr(top, "take_sample", unreachable)
    assert "the database is away" in press(".q")


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


@pytest.mark.usefixtures("lease")
def test_ctrl_c_leaves_the_terminal_as_it_was(terminal: tuple[int, int], url: str) -> None:
    ours, theirs = terminal
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", "top", "--every", "0.2"],
        stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"DATABASE_URL": url, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )  # fmt: skip
    seen = bytearray()

    def until_seen(text: bytes) -> None:
        def look() -> bool:
            with suppress(BlockingIOError):
                seen.extend(os.read(ours, 65536))
            return text in seen

        wait_until(look, 60, what=lambda: f"{text!r} in {bytes(seen)!r}")

    try:
        until_seen(b"runs/s")
        until_seen(b"failures/s")
        process.send_signal(signal.SIGINT)
        until_seen(b"\x1b[?1049l")
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.communicate()
