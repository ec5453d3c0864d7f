"""SpeechKit by webhook: it is looked at when somebody has called, or when nobody has for too long."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from calls.asking import Calls, Person
from calls.conftest import Make
from calls.providers import Clerk, Reader
from calls.speechkit_service import Service, recognizing, speechkit
from penstock import Penstock, PenstockError
from penstock.signatures import Signer
from penstock_recipes.calls import install
from tests.kit.serving import KEY

A_LONG_TIME = 3600.0
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
Begin = Callable[..., AbstractAsyncContextManager[tuple[Calls, Service]]]


@pytest.fixture
def begin(make: Make, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """The recipe with SpeechKit's client, and a worker that runs."""

    @asynccontextmanager
    async def begin_one(polls: int = 0, **options: Any) -> AsyncIterator[tuple[Calls, Service]]:
        async with (
            recognizing(polls=polls) as service,
            make(transcriber=speechkit(service), **{"webhook_timeout": A_LONG_TIME} | options) as calls,
            calls.worker(),
        ):
            monkeypatch.delenv("PENSTOCK_SIGNING_SECRET", raising=False)
            monkeypatch.setenv("PENSTOCK_SERVICE_KEY", KEY)
            monkeypatch.setenv("PENSTOCK_PUBLIC_URL", str(calls.nobody.client.base_url))
            yield calls, service

    return begin_one


async def waiting(person: Person, id: str) -> dict[str, Any]:
    """The call, once nothing but a call back will do; with a slow look it would be there in an hour."""

    def waits(call: dict[str, Any]) -> bool:
        return bool(call["message"] == "Transcribing…" and call["stages"][1]["status"] == "queued")

    return await person.until(id, waits)


async def test_it_is_looked_at_once_when_it_has_called_and_no_other_call_changes_anything(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with begin(poll_interval=A_LONG_TIME) as (calls, service):
        ada = calls.user()
        id = await ada.upload()
        await waiting(ada, id)
        [callback] = service.callbacks
        forged = callback[:-4] + ("AAAA" if not callback.endswith("AAAA") else "BBBB")
        assert (await calls.nobody("POST", forged, json={})).status_code == 404
        assert (await ada.call(id))["stages"][1]["status"] == "queued"
        assert service.looks == 0
        # whoever learns the address can end the wait; what was said is asked of the service
        lie = {"done": True, "response": {"chunks": [{"alternatives": [{"text": "I confess"}]}]}}
        answers = [await calls.nobody("POST", callback, json=lie) for _ in range(2)]
        assert [each.status_code for each in answers] == [204, 410]
        call = await ada.done(id)
        transcript = (await ada.file(call, "transcript")).decode()
        assert "212-85-06" in transcript
        assert "I confess" not in transcript
        assert (await calls.nobody("POST", callback, json={})).status_code == 410
        assert [stage["attempts"] for stage in call["stages"]] == [1, 1, 1, 1]
        assert (service.looks, len(service.operations)) == (1, 1)
        await calls_must_be_signed(calls, service, monkeypatch)


async def calls_must_be_signed(calls: Calls, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a secret is set; and one that comes when the recording is deleted is told so."""
    monkeypatch.setenv("PENSTOCK_CALLBACK_SECRET_SPEECHKIT", WEBHOOK_SECRET)
    ada = calls.user()
    id = await ada.upload()
    await waiting(ada, id)
    body = b'{"id": "e03"}'

    async def call_back(headers: dict[str, str]) -> int:
        return (await calls.nobody("POST", service.callbacks[1], content=body, headers=headers)).status_code

    stranger = Signer("whsec_" + base64.b64encode(b"x" * 32).decode())
    assert [await call_back(each) for each in ({}, stranger.headers("msg_1", body))] == [403, 403]
    assert (await ada.delete(f"/{id}")).status_code == 204
    assert await call_back(Signer(WEBHOOK_SECRET).headers("msg_1", body)) == 410
    assert service.looks == 1


async def test_when_nobody_calls_it_is_looked_at_all_the_same(begin: Begin) -> None:
    async with begin(polls=1, webhook_timeout=0.01) as (calls, service):
        ada = calls.user()
        call = await ada.done(await ada.upload())
        assert call["stages"][2]["polls"] == 1
        # the one that comes too late
        assert (await calls.nobody("POST", service.callbacks[0], json={})).status_code == 410
    assert (service.looks, len(service.operations)) == (2, 1)


def test_who_cannot_call_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with Penstock("postgresql://nowhere") as app:
        with pytest.raises(PenstockError, match="'clerk' calls nobody: leave out webhook_timeout"):
            install(app, transcriber=Clerk(), analyst=Reader(), webhook_timeout=60)
        client = speechkit(Service())
        for seconds in (0.0, -1.0, 3 * 86_400.0, float("nan")):
            with pytest.raises(PenstockError, match=r"SPEECHKIT_WEBHOOK_TIMEOUT_MS.*at most two days"):
                install(app, transcriber=client, analyst=Reader(), webhook_timeout=seconds)
        monkeypatch.setenv("SPEECHKIT_WEBHOOK_TIMEOUT_MS", "soon")
        with pytest.raises(PenstockError, match="SPEECHKIT_WEBHOOK_TIMEOUT_MS must be a whole number"):
            install(app, transcriber=client, analyst=Reader())
