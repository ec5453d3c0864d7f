"""What a job costs in WAL after its enqueue: the same whatever its arguments. WAL is replication, backups, money."""

import json
from typing import Any

import pytest

from penstock.job import NewJob
from tests.engine.hand import Hand, Worker

JOBS = 200
MOST = 1_200
"""Bytes of WAL per job, from its claim to its end."""
ROUNDS = 20


def wal(hand: Hand, statement: str, *params: object) -> tuple[int, int]:
    """Its bytes of WAL, and how many whole pages are among them, each for its first change since a checkpoint."""
    [plan] = hand.value(f"explain (analyze, wal, timing off, format json) {statement}", *params)
    return plan["Plan"]["WAL Bytes"], plan["Plan"]["WAL FPI"]


def jobs_of(size: int) -> list[NewJob]:
    args: dict[str, Any] = {"n": 1}
    if size:
        args["text"] = "".join(chr(97 + i * i % 26) for i in range(size - 20))
    return [NewJob(kind="work", args=json.dumps(args).encode()) for _ in range(JOBS)]


def bytes_per_job(worker: Worker, size: int, failures: int) -> tuple[float, int]:
    """Of the last attempt of a batch, and how many whole pages spoil it."""
    hand = worker.hand
    hand.enqueue(*jobs_of(size))
    error = {"error": "boom", "traceback": "x" * 3_000, "retry_in": 0}
    for attempt in range(failures + 1):
        claimed, pages = wal(hand, "select * from penstock.claim(%s, 'default', %s)", worker.lease, JOBS)
        ids = [id for (id,) in hand.rows("select id from penstock.jobs where state = 'running'")]
        about = [worker.lease, ids, [attempt + 1] * JOBS]
        if attempt < failures:
            hand.rows("select penstock.fail(%s, %s, %s, %s::jsonb)", *about, json.dumps([error] * JOBS))
    completed, more_pages = wal(hand, "select penstock.complete(%s, %s, %s)", *about)
    return (claimed + completed) / JOBS, pages + more_pages


@pytest.mark.parametrize("size", [0, 1_000, 10_000])
@pytest.mark.parametrize("failures", [0, 2])
def test_a_job_writes_its_arguments_and_its_errors_once(hand: Hand, size: int, failures: int) -> None:
    worker = hand.worker(seconds=3600)
    for _ in range(ROUNDS):
        written, whole_pages = bytes_per_job(worker, size, failures)
        if not whole_pages:
            break
    assert not whole_pages
    assert written <= MOST, f"{written:.0f} bytes"
