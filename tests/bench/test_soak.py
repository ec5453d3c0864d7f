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
from bench.soak_jobs import CANCELLED, CHUNK, KINDS, PLAIN, Days, attempts_of, claims_of, end_of, job, kind_of, size_of
from bench.soak_ledger import Ledger, add_partitions
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect

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


def count(ledger: Ledger, n: int, attempts: int = 0, claims: int = 0) -> None:
    """As it has to end, but for so many more attempts and claims."""
    kind = kind_of(n)
    ledger.count(n, kind, end_of(kind), attempts_of(kind) + attempts, claims_of(kind) + claims)


def test_the_ledger_finds_what_is_missing_doubled_or_ended_otherwise() -> None:
    ledger = Ledger(1_000)
    for n in range(999):
        count(ledger, n)
    assert (ledger.lost, ledger.wrong) == (1, Counter())
    count(ledger, 7)
    ledger.count(1_000, kind_of(0), "succeeded", 1, 1)
    assert kind_of(97) == CANCELLED
    other = Ledger(1_000)
    other.count(97, CANCELLED, "succeeded", 0, 0)
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
        count(ledger, 0)
    if n is not None:
        ledger.count(n, kind_of(0), state, 1, 1)
    told = soak.verdict(soak.State(1, TODAY.isoformat(), 5.0), ledger)
    assert {name for name, met in told["goals_met"].items() if not met} == {wrong}
    assert told["verdict"] == "failed"


def test_what_grows_from_the_first_third_to_the_last_is_no_pass() -> None:
    ledger = Ledger(1)
    count(ledger, 0)
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


def test_a_soak_of_full_size_that_does_not_tell_whether_it_is_flat_is_no_pass() -> None:
    ledger = Ledger(soak.FULL)
    ledger.counted = soak.FULL
    told = soak.verdict(soak.State(soak.FULL, TODAY.isoformat(), 60.0), ledger)
    flat = {goal.name for goal in soak.GOALS if goal.name.endswith("_ratio")}
    assert {name for name, met in told["goals_met"].items() if not met} == flat
    assert len(flat) == 6
    assert told["verdict"] == "failed"


def test_attempts_and_claims_are_those_of_the_kind() -> None:
    ledger = Ledger(100)
    for n in range(100):
        count(ledger, n)
    assert ledger.wrong == {}
    for attempts, claims, wrong in ((-1, 0, "ended_wrong"), (1, 0, "rerun"), (0, 1, "rerun")):
        ledger = Ledger(100)
        count(ledger, 90, attempts, claims)
        assert ledger.wrong == {wrong: 1}
    ledger.counted = 100
    once, stopped = (soak.State(100, TODAY.isoformat(), 5.0, runs=runs) for runs in (1, 2))
    assert soak.verdict(once, ledger)["goals_met"]["rerun"] is False
    assert soak.verdict(stopped, ledger)["verdict"] == "passed", "it may have been at work when the worker was stopped"


def test_what_finishes_again_after_its_day_was_dropped_is_doubled_and_what_is_live_is_unfinished(
    connect: Connect,
) -> None:
    hand = Hand(connect())
    days = Days(CHUNK, TODAY)
    assert add_partitions(hand.connection, days, 0, 0)

    def finish() -> None:
        hand.enqueue(NewJob(id=days.id_of(0), kind=PLAIN))
        worker = hand.worker()
        worker.complete(worker.claim_one())

    ledger = Ledger(1)
    finish()
    assert ledger.read_day(hand.connection, days)
    ledger.read_end(hand.connection, days)
    assert (ledger.counted, ledger.wrong) == (1, {"unfinished": 0})
    hand.do(f"drop table penstock.history_{days.date_of(0):%Y%m%d}")
    finish()
    hand.enqueue(NewJob(id=days.id_of(1), kind=PLAIN))
    for _ in range(2):
        ledger.read_end(hand.connection, days)
    assert ledger.wrong == {"double_accepted": 1, "unfinished": 1}


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
