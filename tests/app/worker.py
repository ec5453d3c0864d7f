"""A worker of a dozen lines on the application's engine: claims jobs and ends them as the test says."""

from penstock import ClaimedJob, Penstock
from penstock.engine import commands
from penstock.json import encode_output
from tests.kit import saying


class Worker:
    def __init__(self, app: Penstock, queue: str = "default") -> None:
        self._engine = app.engine
        self._queue = queue
        self._lease = app.engine.run(commands.OpenLease("test", queues=[queue]))

    def claim(self, limit: int = 1) -> list[ClaimedJob]:
        return self._engine.run(commands.Claim(self._lease, self._queue, limit))

    def claim_one(self) -> ClaimedJob:
        [job] = self.claim(1)
        return job

    def complete(self, *jobs: ClaimedJob, output: object = None) -> None:
        refused = self._engine.run(saying.complete(self._lease, jobs, [encode_output(output)] * len(jobs)))
        assert refused == []

    def fail(self, *jobs: ClaimedJob, error: str = "boom") -> None:
        """For good."""
        errors = [{"error": error, "final": True}] * len(jobs)
        assert len(self._engine.run(saying.fail(self._lease, jobs, errors))) == len(jobs)

    def run_all(self, output: object = None) -> list[ClaimedJob]:
        """Completes whatever the queue has; in the order it was claimed."""
        done: list[ClaimedJob] = []
        while jobs := self.claim(100):
            self.complete(*jobs, output=output)
            done += jobs
        return done
