"""The ledger of a soak finds what is lost and what is counted twice; a soak that was stopped goes on."""

import json
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench import soak
from bench.soak_jobs import CANCELLED, CHUNK, KINDS, Days, end_of, job, kind_of, size_of
from bench.soak_ledger import Ledger

ROOT = Path(__file__).parent.parent.parent
TODAY = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_jobs_of_a_soak_are_of_every_kind_and_size_and_their_ids_tell_which() -> None:
    days = Days(1_000_000, TODAY)
    assert {kind_of(n) for n in range(100)} == set(KINDS)
    assert {size_of(n) for n in range(100)} == {0, 1024, 10 * 1024}
    ids = [days.id_of(n) for n in range(0, 1_000_000, 997)]
    assert ids == sorted(ids)
    assert [days.number_of(id) for id in ids] == list(range(0, 1_000_000, 997))
    assert days.start_of(3) <= days.id_of(3 * days.each) < days.id_of(4 * days.each - 1) < days.start_of(4)
    assert days.number_of(job(5, Days(10_000, TODAY).id_of(5)).id) == -1, "of another soak"


def test_the_ledger_finds_what_is_missing_doubled_or_ended_otherwise() -> None:
    ledger = Ledger(1_000)
    for n in range(999):
        ledger.count(n, kind_of(n), end_of(kind_of(n)), 1)
    assert (ledger.lost, ledger.wrong) == (1, Counter())
    ledger.count(7, kind_of(7), "succeeded", 1)
    ledger.count(1_000, kind_of(0), "succeeded", 1)
    assert kind_of(97) == CANCELLED
    other = Ledger(1_000)
    other.count(97, CANCELLED, "succeeded", 1)
    assert ledger.wrong == {"double_accepted": 1, "ghosts": 1}
    assert other.wrong == {"ended_wrong": 1}
    state = soak.State(1_000, TODAY.isoformat(), 5.0)
    assert soak.verdict(state, ledger)["verdict"] == "failed"


@pytest.mark.parametrize(
    ("n", "state", "wrong"),
    [(1, "succeeded", "ghosts"), (0, "succeeded", "double_accepted"), (0, "failed", "ended_wrong"), (None, "", "lost")],
)
def test_each_wrong_alone_is_no_pass(n: int | None, state: str, wrong: str) -> None:
    ledger = Ledger(1)
    if wrong != "ended_wrong" and n is not None:
        ledger.count(0, kind_of(0), end_of(kind_of(0)), 1)
    if n is not None:
        ledger.count(n, kind_of(0), state, 1)
    told = soak.verdict(soak.State(1, TODAY.isoformat(), 5.0), ledger)
    assert {name for name, met in told["goals_met"].items() if not met} == {wrong}
    assert told["verdict"] == "failed"


def test_what_grows_from_the_first_third_to_the_last_is_no_pass() -> None:
    ledger = Ledger(1)
    ledger.count(0, kind_of(0), "succeeded", 1)
    sample = {
        "at": 0.0, "sent": 1, "jobs_per_s": 1, "claim_p50_ms": 1.0, "claim_p99_ms": 2.0, "worker_mb": 50.0,
        "server_mb": 60.0, "history_bytes": 1000, "jobs_bytes": 1000, "partitions": 3,
    }  # fmt: skip
    flat = soak.State(1, TODAY.isoformat(), 5.0, samples=[dict(sample) for _ in range(90)])
    assert soak.verdict(flat, ledger)["verdict"] == "passed"
    for name in ("worker_mb", "server_mb", "history_bytes", "jobs_bytes", "claim_p50_ms", "claim_p99_ms"):
        growing = [{**sample, name: sample[name] * (1 + n / 90)} for n in range(90)]
        told = soak.verdict(soak.State(1, TODAY.isoformat(), 5.0, samples=growing), ledger)
        assert told["verdict"] == "failed", name


@pytest.mark.slow
def test_a_soak_that_is_stopped_goes_on_and_counts_every_job_once(tmp_path: Path) -> None:
    results = tmp_path / "soak.json"
    jobs = 12 * CHUNK
    command = [sys.executable, "-m", "bench.soak", "--jobs", str(jobs), "--kept", "2"]
    command += ["--folder", str(tmp_path / "soak"), "--results", str(results)]
    state = tmp_path / "soak" / "state.json"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        try:
            while first.poll() is None and (not state.exists() or json.loads(state.read_text())["counted"] == 0):
                with suppress(subprocess.TimeoutExpired):
                    first.wait(0.1)
        finally:
            first.send_signal(signal.SIGINT)
    assert first.returncode == 1
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(results.read_text())
    assert (told["jobs"], told["counted"], told["lost"], told["double_accepted"]) == (jobs, jobs, 0, 0)
    assert told["runs"] == 2
    assert told["ended"] == dict(Counter(end_of(kind_of(n)) for n in range(jobs)))
