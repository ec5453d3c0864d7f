"""Waiting for a transcription: it takes no worker, and not for ever."""

from datetime import datetime, timedelta

import pytest

from calls.conftest import Make, over_both
from calls.providers import REFUSED, Clerk, Reader
from penstock import Penstock, PenstockError
from penstock_recipes.calls import install

ONE_QUEUE = dict.fromkeys(("extract_audio", "transcribe_start", "transcribe_poll", "analyze"), "calls")


@over_both
async def test_a_poll_of_many_rounds_holds_no_slot(make: Make, jobs_url: str | None) -> None:
    """There is one slot, and other jobs run in it between the rounds."""
    rounds_before: list[int] = []
    rounds = 200 if jobs_url is None else 50  # each takes longer there
    clerk = Clerk(polls=rounds)
    async with make(transcriber=clerk, poll_interval=0.002, queues=ONE_QUEUE) as calls:

        @calls.app.job(queue="calls")
        async def other() -> None:
            rounds_before.append(sum(clerk.asked.values()))

        ada = calls.user()
        id = await ada.upload()
        async with calls.worker(slots=1):
            await ada.until(id, lambda call: call["stages"][2]["polls"] > 0)
            for _ in range(5):
                await (await other.aenqueue()).aresult(timeout=30)
            call = await ada.done(id)
    polling = call["stages"][2]
    assert (polling["attempts"], polling["polls"], polling["lastError"]) == (1, rounds, None)
    assert sum(clerk.asked.values()) == rounds + 1
    # they did not wait for its end
    assert len(rounds_before) == 5
    assert rounds_before[0] < rounds


@over_both
async def test_a_poll_that_never_ends_has_failed_when_its_budget_is_spent(make: Make) -> None:
    async with make(transcriber=Clerk(polls=99), max_polls=3) as calls:
        ada = calls.user()
        async with calls.worker():
            call = await ada.ended(await ada.upload())
    assert (call["status"], call["error"]) == ("failed", "still not done after 3 snoozes")
    assert [stage["status"] for stage in call["stages"]] == ["done", "done", "failed", "failed"]


async def test_a_transcription_that_failed_is_not_asked_for_again_until_somebody_says_so(make: Make) -> None:
    clerk = Clerk(error=REFUSED)
    async with make(transcriber=clerk) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            failed = await ada.ended(id)
            assert (failed["status"], failed["error"]) == ("failed", str(REFUSED))
            assert [stage["attempts"] for stage in failed["stages"]] == [1, 1, 1, 0]
            assert [name for _, name in clerk.forgotten] == clerk.started
            clerk.error = None
            assert (await ada("POST", f"/{id}/retry")).status_code == 202
            await ada.done(id)
    # begun anew, under another name: a provider may remember the first one
    assert len(set(clerk.started)) == 2
    assert [name for _, name in clerk.forgotten] == clerk.started


async def test_the_interval_is_that_of_the_environment(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEECHKIT_POLL_INTERVAL_MS", "90000")
    async with make(transcriber=Clerk(polls=9), poll_interval=None) as calls:
        ada = calls.user()
        async with calls.worker():
            call = await ada.until(await ada.upload(), lambda call: call["stages"][2]["polls"] == 1)
    polling = call["stages"][2]
    waits = datetime.fromisoformat(polling["availableAt"]) - datetime.fromisoformat(polling["startedAt"])
    assert timedelta(seconds=90) <= waits < timedelta(seconds=120)
    assert polling["status"] == "queued"


def test_an_interval_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEECHKIT_POLL_INTERVAL_MS", "5s")
    with Penstock("postgresql://nowhere") as app, pytest.raises(PenstockError, match="SPEECHKIT_POLL_INTERVAL_MS"):
        install(app, transcriber=Clerk(), analyst=Reader())
