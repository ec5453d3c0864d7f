"""What arrives at Sentry, from the SDK itself in a worker of its own: an event for each job that was given up."""

import asyncio
import dataclasses
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from penstock import Backoff, NewJob, Penstock
from penstock.engine import commands
from penstock.mask import MASK
from tests.kit.fake_http import Answer, FakeServer, Request, fake_server
from tests.kit.until import until

Item = dict[str, Any]


def items(received: list[Request]) -> dict[str, list[Item]]:
    """What the envelopes hold, by type."""
    found: dict[str, list[Item]] = {}
    for request in received:
        body = gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body
        _, *lines = body.split(b"\n")
        for head, payload in zip(lines[::2], lines[1::2], strict=False):
            if head:
                found.setdefault(json.loads(head)["type"], []).append(json.loads(payload))
    return found


def start(url: str, sentry: FakeServer) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ, "DATABASE_URL": url, "SENTRY_DSN": f"http://public@127.0.0.1:{sentry.port}/7",
        "PYTHONPATH": str(Path(__file__).parent.parent.parent),
    }  # fmt: skip
    command = [sys.executable, "-m", "penstock.cli", "worker", "tests.interop.sentry_program:app", "--grace", "1"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


@asynccontextmanager
async def worker(url: str, sentry: FakeServer) -> AsyncIterator[None]:
    process = start(url, sentry)
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) == 0
    finally:
        process.kill()
        process.wait()


def about(event: Item) -> tuple[str, str, str, str]:
    """Its level, the job's kind and queue, and what was raised."""
    raised = event["exception"]["values"][-1]["type"] if "exception" in event else event["logentry"]["message"]
    return event["level"], event["tags"]["penstock.kind"], event["tags"]["penstock.queue"], raised


async def test_an_event_for_each_job_that_was_given_up(url: str) -> None:
    secret = "s3cr3t-of-the-shop"
    card = {"holder": "Ada", "cvc": "123"}
    async with Penstock(url) as app, fake_server(lambda _: Answer()) as sentry:

        def new(kind: str, **args: Any) -> NewJob:
            """As the program itself would: it is not imported here, where the SDK must not be set up."""
            queue, attempts = ("billing", 2) if kind == "charge" else ("default", 1)
            return app.prepare_unchecked(kind, args, queue=queue, max_attempts=attempts, backoff=Backoff.constant(0))

        tick = {"schedule": "yearly", "tick": "2026-01-01T00:00:00Z"}
        lost = [new("refuse", number=9), dataclasses.replace(new("yearly"), options=tick)]
        await app.engine.aenqueue(lost)
        lease = await app.engine.arun(commands.OpenLease("killed", queues=["default"]))
        await app.engine.arun(commands.Claim(lease, "default", 2))
        await app.engine.arun(commands.ExpireLease(lease))
        jobs = [
            new("charge", customer="ada", api_key=secret, card=card), new("in_thread", customer="bob"),
            new("isolated", number=7), new("refuse", number=8), new("hang"), new("together", numbers=1),
            new("together", numbers=2), new("succeed"), dataclasses.replace(new("yearly"), options=tick),
        ]  # fmt: skip
        charged, *_, scheduled = handles = [app.handle(made.id) for made in await app.engine.aenqueue(jobs)]

        async def all_ended() -> bool:
            states = [(await job.arefresh()).state for job in handles]
            upkeep = await app.engine.arun(commands.Maintain())
            return all(state.final for state in states) and upkeep is not None and not upkeep["lost"]

        async with worker(url, sentry):
            await until(all_ended, within=60)
        received = items(sentry.requests)

    events = {about(event): event for event in received["event"]}
    assert sorted(map(about, received["event"])) == [
        ("error", "charge", "billing", "ConnectionError"),
        ("error", "hang", "default", "Timeout"),
        ("error", "in_thread", "default", "LookupError"),
        ("error", "isolated", "default", "ArithmeticError"),
        ("error", "refuse", "default", "Fail"),
        ("error", "refuse", "default", "WorkerLost"),
        ("error", "succeed", "default", "of the handler's own"),
        ("error", "together", "default", "ValueError"),
        ("error", "together", "default", "ValueError"),
        ("error", "yearly", "default", "WorkerLost"),
        ("warning", "charge", "billing", "ConnectionError"),
    ]

    given_up = events["error", "charge", "billing", "ConnectionError"]
    assert given_up["contexts"]["job"] == {
        "id": str(charged.id), "kind": "charge", "queue": "billing", "attempt": 2, "max_attempts": 2,
        "created_at": given_up["contexts"]["job"]["created_at"],
        "args": {"customer": "ada", "api_key": MASK, "card": {"holder": "Ada", "cvc": MASK}},
    }  # fmt: skip
    assert given_up["transaction"] == "charge"
    assert given_up["tags"]["customer"] == "ada"
    assert [crumb["message"] for crumb in given_up["breadcrumbs"]["values"]] == ["asked the bank for ada"]
    [raised] = given_up["exception"]["values"]
    assert raised["mechanism"] == {"type": "penstock", "handled": False}
    assert raised["value"] == f"no answer from https://shop:{MASK}@bank.example/charge"
    frame = raised["stacktrace"]["frames"][-1]
    assert (frame["function"], frame["in_app"], frame["vars"]["customer"]) == ("charge", True, "'ada'")
    assert not [each for each in raised["stacktrace"]["frames"][:-1] if each["in_app"] or "vars" in each]
    assert secret not in json.dumps(received)

    in_thread = events["error", "in_thread", "default", "LookupError"]
    assert in_thread["tags"]["customer"] == "bob"
    assert "breadcrumbs" not in in_thread or not in_thread["breadcrumbs"]["values"]
    [raised] = events["error", "isolated", "default", "ArithmeticError"]["exception"]["values"]
    assert raised["value"] == "not 7"
    frame = raised["stacktrace"]["frames"][-1]
    assert (frame["function"], frame["context_line"]) == ("isolated", 'raise ArithmeticError(f"not {number}")')
    refused = events["error", "refuse", "default", "Fail"]
    assert refused["tags"]["refused"] == "yes"
    assert refused["fingerprint"] == ["penstock", "refuse", "Fail", "row <number> is empty"]
    assert events["error", "hang", "default", "Timeout"]["tags"]["hangs"] == "yes"
    assert "customer" not in events["error", "hang", "default", "Timeout"]["tags"]

    runs = {each["transaction"]: each["contexts"]["trace"] for each in received["transaction"]}
    assert runs["follow"]["trace_id"] == runs["succeed"]["trace_id"]
    assert runs["follow"]["parent_span_id"] == runs["succeed"]["span_id"]
    assert runs["charge"]["trace_id"] == given_up["contexts"]["trace"]["trace_id"]
    assert runs["charge"]["op"] == "queue.process"

    of_lost = events["error", "refuse", "default", "WorkerLost"]
    assert of_lost["exception"]["values"][0]["value"] == "its worker was lost"
    assert of_lost["contexts"]["job"]["id"] == str(lost[0].id)
    assert of_lost["contexts"]["job"]["args"] == {"number": 9}
    assert "tags" in of_lost
    assert "refused" not in of_lost["tags"]

    checked = [(each["monitor_slug"], each["status"], each["check_in_id"]) for each in received["check_in"]]
    assert [each for each in checked if each[2] == scheduled.id.hex] == [
        ("yearly", status, scheduled.id.hex) for status in ("in_progress", "ok")
    ]
    assert [each for each in checked if each[2] != scheduled.id.hex] == [("yearly", "error", lost[1].id.hex)]
    assert received["check_in"][0]["monitor_config"] == {
        "schedule": {"type": "crontab", "value": "0 0 1 1 *"}, "timezone": "Europe/Berlin"
    }  # fmt: skip
