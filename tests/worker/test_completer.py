"""What a completer notes of runs whose report had no answer at first."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.engine.faults import Faults
from penstock.job import ClaimedJob, Lease, new_job_id
from penstock.worker.completer import Completer
from penstock.worker.ending import NOTHING, NothingToReport, outcome_of
from penstock.worker.failures import Failures
from penstock.worker.observers import Observers
from penstock.worker.run import Lane, Run
from penstock.worker.statistics import RunCounts
from tests.kit.until import soon


class AwayAtFirst:
    """An engine whose first answer is lost."""

    faults = Faults()

    def __init__(self) -> None:
        self.asked = 0

    async def arun(self, command: commands.Complete) -> list[UUID]:
        self.asked += 1
        if self.asked == 1:
            raise ConnectionError("gone")
        assert isinstance(command, commands.Complete)
        return []


def a_run() -> Run:
    job = ClaimedJob(new_job_id(), "work", 0, 1, 1, 5, 1, 0, None, None, None, datetime.now(UTC), "{}", None)
    return Run(job, Lease(1), 0.0, "default")


async def test_a_run_whose_own_transaction_was_refused_is_lost_however_often_the_others_are_reported() -> None:
    def nothing(*_: Any) -> None:
        return None

    engine: Any = AwayAtFirst()
    completer = Completer(engine, nothing, nothing, nothing, Failures(), RunCounts(), Observers())
    lane, done, refused = Lane("default", 2), a_run(), a_run()
    completer.add(lane, done, NOTHING)
    completer.add(lane, refused, NothingToReport(accepted=False))
    completer.start()
    await soon(completer.drained())
    await completer.stop()
    assert engine.asked == 2
    assert outcome_of(refused, NothingToReport(accepted=False)) == "lost"
    assert outcome_of(done, NOTHING) == "succeeded"
