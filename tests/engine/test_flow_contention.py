"""Many workers at work on one flow: they wait for each other's commits, never in a circle."""

import random
from collections import Counter
from threading import Lock

import psycopg

from penstock.engine.commands import Command
from penstock.flow import Flow
from penstock.job import NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import all_at_once
from tests.engine.hand import Hand
from tests.kit import saying

FLOWS = 10
JOBS = 40


def flow_of_many() -> Flow:
    """One failing job cancels the rest; some of them are in a flow inside."""
    inner = Flow(then=NewJob(kind="last", max_attempts=1), policy="continue")
    outer = Flow()
    for _ in range(JOBS // 4):
        inner.add(NewJob(kind="work", max_attempts=1))
    for _ in range(JOBS):
        outer.add(NewJob(kind="work", max_attempts=1))
    outer.add(inner)
    return outer


def test_a_job_that_fails_while_its_siblings_finish_or_report_meets_no_deadlock(hands: Hands) -> None:
    crowd = [hands() for _ in range(6)]
    counts: Counter[str] = Counter()
    lock = Lock()

    def work(hand: Hand) -> None:
        dice, worker = random.Random(), hand.worker()
        while jobs := worker.claim(3):
            for job in jobs:
                progress = {"percent": dice.randint(0, 100)}
                reports: list[Command[object]] = [saying.report_progress(worker.lease, [job], [progress])]
                if dice.random() < 0.05:
                    reports.append(saying.fail(worker.lease, [job], [{"error": "boom"}]))
                else:
                    reports.append(saying.complete(worker.lease, [job]))
                for report in reports:
                    try:
                        hand.run(report)
                    except psycopg.errors.DeadlockDetected:
                        with lock:
                            counts["deadlocks"] += 1
                        hand.run(report)

    for each in crowd:
        each.do("set deadlock_timeout = '20ms'")
    for _ in range(FLOWS):
        root = crowd[0].start(flow_of_many())
        all_at_once(crowd, work)
        counts[str(crowd[0].state(root))] += 1
    assert counts["failed"] + counts["succeeded"] == FLOWS, counts
    assert counts["deadlocks"] == 0, counts
