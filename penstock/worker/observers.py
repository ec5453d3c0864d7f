"""Runs that have ended, told to whoever measures: Prometheus by the worker itself, others by @app.on_end."""

import logging
import time
from collections.abc import Iterable, Sequence

from penstock.outcome import EndedRun, EndHook
from penstock.worker.ending import Ending, Failed, outcome_of
from penstock.worker.failures import failure_of
from penstock.worker.run import Lane, Run

log = logging.getLogger("penstock.worker")


class Observers:
    def __init__(self, hooks: Iterable[EndHook] = ()) -> None:
        self.hooks = list(hooks)

    def tell(self, ended: Sequence[tuple[Lane, Run, Ending]]) -> None:
        """Runs whose ending was reported."""
        # from the worker's own clock to that which jobs are stamped with
        offset = time.time() - time.monotonic()
        for _, run, ending in ended:
            told = _ended(run, ending, offset)
            for hook in self.hooks:
                try:
                    hook(told)
                except Exception:
                    log.exception("a function of @app.on_end raised")


def _ended(run: Run, ending: Ending, offset: float) -> EndedRun:
    outcome = outcome_of(run, ending)
    failure = failure_of(run, ending) if isinstance(ending, Failed) else None
    if not run.begun:
        return EndedRun(run.job, run.queue, outcome, None, None, failure)
    waited = None
    if run.job.claims == 1:
        waited = max(0.0, run.started + offset - run.job.created_at.timestamp())
    return EndedRun(run.job, run.queue, outcome, waited, run.ran, failure)
