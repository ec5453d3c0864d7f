"""Usage counters: runs, seconds, failures and bytes for each day, organisation and kind."""

from datetime import UTC, datetime

import msgspec
import pytest

from penstock.engine import commands
from tests.engine.hand import Hand
from tests.kit import saying

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)


def usage(hand: Hand, org: str | None = None) -> list[tuple[object, ...]]:
    return [msgspec.structs.astuple(row)[1:] for row in hand.run(commands.ListUsage(org))]


@pytest.mark.parametrize("folded", [False, True])
def test_runs_seconds_and_failures_are_counted_for_each_organisation_and_kind(hand: Hand, folded: bool) -> None:
    hand.set_clock(NOON)
    for org, kind in (("acme", "mail"), ("acme", "mail"), ("acme", "export"), (None, "mail")):
        hand.add(kind, org=org, max_attempts=2)
    worker = hand.worker()
    jobs = worker.claim(4)
    hand.move_clock(seconds=2)
    worker.complete(*jobs[:1], *jobs[2:])
    hand.move_clock(seconds=1)
    worker.fail(jobs[1], retry_in=0)
    if folded:
        assert (hand.run(commands.Maintain()) or {})["usage_folded"] == 4
        assert hand.value("select count(*) from penstock.usage_log") == 0
    assert usage(hand) == [("", "mail", 1, 2.0, 0, 0), ("acme", "export", 1, 2.0, 0, 0), ("acme", "mail", 2, 5.0, 1, 0)]
    assert usage(hand, "acme")[0][:2] == ("acme", "export")

    last = worker.claim_one()
    hand.move_clock(seconds=4)
    worker.fail(last)
    if folded:
        hand.run(commands.Maintain())
    assert usage(hand, "acme")[1] == ("acme", "mail", 3, 9.0, 2, 0)


def test_a_snooze_is_a_run_and_a_failure_only_when_its_budget_is_spent(hand: Hand) -> None:
    hand.add(max_snoozes=1)
    worker = hand.worker()
    for runs, failures in ((0, 0), (1, 1)):
        hand.run(saying.snooze(worker.lease, [worker.claim_one()], [0]))
        assert (usage(hand)[0][2], usage(hand)[0][4]) == (runs, failures)


def test_a_job_stopped_while_it_ran_is_a_run(hand: Hand) -> None:
    hand.set_clock(NOON)
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    hand.move_clock(seconds=3)
    hand.run(saying.stop_cancelled(worker.lease, [job]))
    assert usage(hand) == [("", "work", 1, 3.0, 0, 0)]


def test_days_are_counted_apart_in_utc(hand: Hand) -> None:
    worker = None
    for hours in (0, 11.9, 0.2):
        hand.set_clock(NOON if worker is None else hand.now)
        hand.move_clock(hours=hours)
        worker = hand.worker()
        hand.add()
        worker.complete(worker.claim_one())
    days = [(row.day.isoformat(), row.runs) for row in hand.run(commands.ListUsage())]
    assert days == [("2030-05-01", 2), ("2030-05-02", 1)]


def test_a_refused_outcome_is_not_counted(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    worker.complete(job)
    worker.complete(job)
    assert usage(hand)[0][2] == 1


def test_bytes_of_artifacts_are_added(hand: Hand) -> None:
    hand.do("select penstock.count_usage('acme', 'export', p_bytes => 1500)")
    hand.do("select penstock.count_usage('acme', 'export', p_bytes => 500)")
    hand.run(commands.Maintain())
    assert usage(hand) == [("acme", "export", 0, 0.0, 0, 2000)]
