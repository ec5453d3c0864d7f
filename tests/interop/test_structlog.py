"""A worker whose lines are structlog's own: every one is JSON, and says which job it belongs to."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock import NewJob, Penstock
from tests.kit.until import wait_until

KINDS = {"on_loop": {"customer": "ada"}, "in_thread": {"customer": "bob"}, "isolated": {}, "fail": {}}


def test_every_line_is_the_applications_own_and_says_which_job_it_is_of(url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    command = [sys.executable, "-m", "penstock.cli", "worker", "tests.interop.structlog_program:app"]
    with Penstock(url) as app:
        new = [NewJob(kind=kind, args=json.dumps(args).encode(), max_attempts=1) for kind, args in KINDS.items()]
        jobs = dict(zip(KINDS, [app.handle(made.id) for made in app.engine.enqueue(new)], strict=True))
        worker = subprocess.Popen(
            [*command, "--log-format", "app", "--grace", "5"], env=environment, stderr=subprocess.PIPE, text=True
        )
        with worker:
            try:
                wait_until(lambda: all(job.refresh().state.final for job in jobs.values()), within=60)
            finally:
                worker.send_signal(signal.SIGTERM)
            assert worker.stderr is not None
            lines: list[dict[str, Any]] = [json.loads(line) for line in worker.stderr]
    found = {line["event"]: line for line in lines}

    def of(event: str) -> tuple[Any, ...]:
        line = found[event]
        return line["job_id"], line["job_kind"], line["job_attempt"], line["logger"], line.get("customer")

    assert of("charged") == (str(jobs["on_loop"].id), "on_loop", 1, "shop", "ada")
    assert of("packed in paper") == (str(jobs["in_thread"].id), "in_thread", 1, "shop", "bob")
    assert of("drawn") == (str(jobs["isolated"].id), "isolated", 1, "shop", None)
    given_up = "given up after attempt 1 of 1: LookupError: nothing there"
    assert of(given_up) == (str(jobs["fail"].id), "fail", 1, "penstock.jobs", None)
    assert "in fail" in found[given_up]["exception"]
    [ready] = [line for line in lines if line["event"].startswith("worker ") and " runs " in line["event"]]
    assert "job_id" not in ready
