"""Which worker runs a job, where and for how long."""

import os
import socket

import pytest

from penstock import Handler, Penstock
from penstock.engine import commands
from penstock.job import Lease
from tests.cli.conftest import Command

Send = Handler[..., None]


@pytest.fixture
def lease(app: Penstock, send: Send) -> Lease:
    """A worker that runs one job, and another that is idle."""
    host, pid = socket.gethostname(), os.getpid()
    app.engine.run(commands.OpenLease("idle", queues=["mail"], host=host, pid=1))
    lease = app.engine.run(commands.OpenLease("busy", queues=["default", "mail"], host=host, pid=pid))
    send.enqueue("x")
    assert app.engine.run(commands.Claim(lease, "default", 1))
    return lease


def test_workers_are_listed_with_what_they_run(penstock: Command, app: Penstock, lease: Lease) -> None:
    idle, busy = penstock.json("workers")["workers"]
    assert (idle["worker"], idle["running"]) == ("idle", [])
    assert (busy["lease"], busy["worker"], busy["host"], busy["pid"]) == (
        lease,
        "busy",
        socket.gethostname(),
        os.getpid(),
    )
    assert busy["queues"] == ["default", "mail"]
    assert busy["started_at"] <= busy["heard_at"]
    [running] = busy["running"]
    [job] = app.jobs.list().jobs
    assert (running["id"], running["kind"], running["attempt"]) == (str(job.id), "send", 1)
    assert 0 <= running["seconds"] < 60
    app.engine.run(commands.ReportStatistics(lease, memory=81_000_000, load=0.42, slots=20))
    assert (penstock.json("workers")["workers"][1]["memory"], idle["memory"]) == (81_000_000, None)
    lines = penstock.lines("workers")
    assert "nothing" in lines[1]
    assert all(word in lines[2] for word in ("1/20", "81 MB", "42%"))
    assert f"send {job.id} for " in lines[2]


def test_a_job_shows_who_runs_it_and_cancelling_it_says_that_it_was_asked(
    penstock: Command, app: Penstock, lease: Lease, send: Send
) -> None:
    [job] = app.jobs.list().jobs
    waiting = send.enqueue("y")
    shown = " ".join(penstock.lines("jobs", "show", str(job.id)))
    assert f"busy, host {socket.gethostname()}, pid {os.getpid()}" in shown
    assert penstock.json("jobs", "show", str(job.id))["worker"]["pid"] == os.getpid()
    assert penstock.json("jobs", "show", str(waiting.id))["worker"] is None
    assert penstock.lines("jobs", "cancel", str(job.id), str(waiting.id)) == [
        "1 job cancelled", "1 running job was asked to stop"
    ]  # fmt: skip
    assert "asked to stop" in penstock.lines("workers")[2]
    assert penstock.json("jobs", "cancel", str(job.id)) == {
        "cancelled": 0, "stopping": 1, "ids": [str(job.id)]
    }  # fmt: skip
