"""How many steps a job may take, and how large what it remembers or is told may be: beyond, nothing is written."""

import random

import msgspec
import pytest

from penstock import InvalidInput, NewJob, PayloadTooLarge, Penstock
from penstock.engine.commands import Claim, OpenLease, RecallSteps, RememberStep, Suspend, WaitingStep

MOST = 10_000
LARGE = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=2_500_000))
"""Over 1 MiB however it is compressed."""


async def test_steps_and_payloads_have_limits_that_name_the_step(app: Penstock) -> None:
    await app.engine.aenqueue([NewJob(kind="long")], None)
    lease = await app.engine.arun(OpenLease("test"))
    [job] = await app.engine.arun(Claim(lease, "default", 1))
    mine = (lease, job.id, job.claims)
    large = msgspec.Raw(msgspec.json.encode(LARGE))
    small = msgspec.Raw(b"1")
    assert await app.engine.arun(RememberStep(*mine, "last", small, "step", MOST, None))
    refused = (
        (RememberStep(*mine, "more", small, "step", MOST + 1, None), InvalidInput, "step more: is the 10001th"),
        (Suspend(*mine, WaitingStep("nap", "sleep", MOST + 1, seconds=60)), InvalidInput, "step nap: is the 10001th"),
        (RememberStep(*mine, "big", large, "step", 2, None), PayloadTooLarge, "step big: "),
        (Suspend(*mine, WaitingStep("ask", "approval", 2, event="e", about=LARGE)), PayloadTooLarge, "step ask: "),
    )
    for command, error, told in refused:
        with pytest.raises(error, match=told):
            await app.engine.arun(command)
    with pytest.raises(InvalidInput, match="payload"):
        await app.aemit("paid", payload=LARGE)
    assert [step.name for step in await app.engine.arun(RecallSteps(*mine))] == ["last"]
