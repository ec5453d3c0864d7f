"""SpeechKit's client, against a server on loopback that speaks its protocol, and against a real S3 store."""

import json
import logging
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
import pytest
from obstore.store import S3Store

from calls.speechkit_service import KEY, operation, recognizing, speechkit, told
from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.providers.transcription import Segment, Transcript, TranscriptionFailed, Word
from penstock_recipes.calls.providers.transcription.speechkit_settings import SpeechKitSettings
from tests.kit.fake_http import Answer, Request
from tests.storage.conftest import seaweed  # noqa: F401
from tests.storage.seaweed import KEY as STORE_KEY
from tests.storage.seaweed import SECRET as STORE_SECRET
from tests.storage.seaweed import Seaweed

FACTS = AudioFacts(12.5, 2, 48_000)
NAME = "5d3c/call 1.ogg"


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    path = tmp_path / "audio.ogg"
    path.write_bytes(b"OggS" + bytes(4000))
    return path


async def never() -> Path:
    raise AssertionError("the service has a copy of its own")


async def test_a_call_is_handed_over_watched_and_read(audio: Path) -> None:
    async with recognizing(polls=2) as service:
        client = speechkit(service)
        started = await client.start(audio, name=NAME, facts=FACTS)
        answers = [await client.poll(started, never) for _ in range(3)]
        assert answers[:2] == [None, None]
        assert answers[2] == Transcript(
            "ru-RU",
            1.54,
            "speechkit",
            (
                Segment(0.5, 1.0, 2, "Да.", None, (Word(0.5, 1.0, "да"),)),
                Segment(
                    0.88, 1.54, 1, "Твой номер 212-85-06.", None, (Word(0.88, 1.16, "твой"), Word(1.22, 1.54, "номер"))
                ),
            ),
        )
        asked = next(request for request in service.requests if request.method == "POST")
        assert asked.headers["authorization"] == f"Api-Key {KEY}"
        assert service.callbacks == []
        assert json.loads(asked.body) == {
            "config": {
                "specification": {
                    "languageCode": "ru-RU",
                    "model": "general",
                    "audioEncoding": "OGG_OPUS",
                    "literature_text": True,
                }
            },
            "audio": {"uri": f"{service.url}/bucket/calls/5d3c/call%201.ogg"},
        }


async def test_who_wants_to_be_called_says_where_and_asks_for_the_same_operation(audio: Path) -> None:
    async with recognizing() as service:
        client = speechkit(service)
        started = await client.start(audio, name=NAME, facts=FACTS)
        address = "https://jobs.example.com/api/callbacks/t0ken"
        again = await client.start_with_callback(audio, name=NAME, facts=FACTS, callback=address)
        assert (again, service.callbacks) == (started, [address])


async def test_starting_twice_pays_once(audio: Path) -> None:
    async with recognizing() as service:
        first = await speechkit(service).start(audio, name=NAME, facts=FACTS)
        again = await speechkit(service).start(audio, name=NAME, facts=FACTS)
        other = await speechkit(service).start(audio, name="5d3c/another.ogg", facts=FACTS)
        assert first == again != other


async def test_the_audio_is_in_the_bucket_until_it_is_forgotten(audio: Path, seaweed: Seaweed) -> None:  # noqa: F811
    bucket, prefix = "artifacts", uuid4().hex
    keys: dict[str, Any] = {"access_key_id": STORE_KEY, "secret_access_key": STORE_SECRET}
    there = S3Store(
        bucket, endpoint=seaweed.endpoint, region="us-east-1", client_options={"allow_http": True},
        virtual_hosted_style_request=False, **keys,
    )  # fmt: skip
    async with recognizing(
        broken=lambda request: told(operation("e03")) if request.method == "POST" else None
    ) as service:
        client = speechkit(service, bucket=bucket, prefix=prefix, storage_url=seaweed.endpoint, **keys)
        await client.start(audio, name=NAME, facts=FACTS)
        await client.start(audio, name=NAME, facts=FACTS)
        found = await obstore.get_async(there, f"{prefix}/{NAME}")
        assert bytes(await found.bytes_async()) == b"OggS" + bytes(4000)
        assert found.attributes["Content-Type"] == "audio/ogg"
        uri = json.loads(service.requests[0].body)["audio"]["uri"]
        assert uri == f"{seaweed.endpoint}/{bucket}/{prefix}/5d3c/call%201.ogg"
        await client.forget("e03", name=NAME)
        await client.forget(None, name=NAME)
        with pytest.raises(FileNotFoundError):
            await obstore.head_async(there, f"{prefix}/{NAME}")
        stranger = speechkit(service, bucket=bucket, storage_url=seaweed.endpoint)
        with pytest.raises(TranscriptionFailed, match="check SPEECHKIT_ACCESS_KEY_ID") as refused:
            await stranger.start(audio, name=NAME, facts=FACTS)
        assert "a-secret" not in str(refused.value)


async def test_a_token_does_too(audio: Path) -> None:
    async with recognizing() as service:
        client = speechkit(
            service, api_key=None, iam_token=KEY, folder="b1g", language="en-US", model="deferred-general"
        )
        assert await client.start(audio, name=NAME, facts=FACTS)
        asked = service.requests[-1]
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        config = json.loads(asked.body)["config"]
        assert (config["folderId"], config["specification"]["model"]) == ("b1g", "deferred-general")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_refused_ends_it_and_says_what_to_do(status: int, audio: Path) -> None:
    refused = told({"code": 16, "message": f"key {KEY} is no good"}, status)
    async with recognizing(broken=lambda request: refused if "bucket" not in request.path else None) as service:
        with pytest.raises(TranscriptionFailed, match="set SPEECHKIT_API_KEY"):
            await speechkit(service).start(audio, name=NAME, facts=FACTS)
        with pytest.raises(TranscriptionFailed, match="set SPEECHKIT_API_KEY"):
            await speechkit(service).poll("e03", never)


@pytest.mark.parametrize("status", [400, 404, 409])
async def test_a_request_that_is_wrong_ends_it_with_the_reason(status: int, audio: Path) -> None:
    wrong = told({"code": 3, "message": f"bad audio, says {KEY}"}, status)
    async with recognizing(broken=lambda request: wrong if request.method == "POST" else None) as service:
        with pytest.raises(TranscriptionFailed, match=rf"\({status}\): bad audio, says …") as failed:
            await speechkit(service).start(audio, name=NAME, facts=FACTS)
        assert KEY not in str(failed.value)


async def test_an_operation_it_no_longer_knows_is_given_up() -> None:
    async with recognizing() as service:
        with pytest.raises(TranscriptionFailed, match="three days"):
            await speechkit(service).poll("../operations/e03", never)
        assert service.requests[-1].path == "/operations/..%2Foperations%2Fe03"


BUSY = {
    "too many requests": told({"code": 8, "message": "quota"}, 429),
    "a fault": told({"code": 13, "message": "internal"}, 500),
    "a proxy's page": Answer(502, b"<html>Bad gateway</html>"),
    "another place": Answer(302, b"", {"Location": "https://example.com/"}),
    "a page that says it is fine": Answer(200, b"<html>Welcome to the hotel</html>"),
    "nothing": Answer(200, b""),
    "an operation without a name": told({"done": False}),
    "a list": told([]),
    "done without a result": told(operation("e03", done=True)),
    "chunks that are none": told(operation("e03", done=True, response={"chunks": {"a": 1}})),
    "a time that is none": told(
        operation(
            "e03", done=True, response={"chunks": [{"alternatives": [{"text": "a", "words": [{"startTime": "soon"}]}]}]}
        )
    ),
    "a channel that is none": told(
        operation("e03", done=True, response={"chunks": [{"alternatives": [{"text": "a"}], "channelTag": "left"}]})
    ),
}


@pytest.mark.parametrize("answer", BUSY.values(), ids=BUSY)
async def test_what_may_pass_is_tried_again(answer: Answer) -> None:
    async with recognizing(broken=lambda _: answer) as service:
        with pytest.raises(RuntimeError, match="SpeechKit"):
            await speechkit(service).poll("e03", never)


async def test_a_service_that_hangs_up_or_is_not_there_is_tried_again(audio: Path) -> None:
    def hang_up(request: Request) -> Answer | None:
        if request.method == "GET":
            raise ConnectionResetError
        return None

    async with recognizing(broken=hang_up) as service:
        client = speechkit(service)
        with pytest.raises(RuntimeError, match="cannot be reached"):
            await client.poll("e03", never)
    with pytest.raises(RuntimeError, match="cannot be reached"):
        await client.poll("e03", never)


@pytest.mark.parametrize(("code", "hint"), [(3, False), (14, True)])
async def test_an_operation_that_failed_is_given_up(code: int, hint: bool, audio: Path) -> None:
    async with recognizing(error={"code": code, "message": "audio is not valid OGG"}) as service:
        client = speechkit(service)
        started = await client.start(audio, name=NAME, facts=FACTS)
        with pytest.raises(TranscriptionFailed, match="audio is not valid OGG") as failed:
            await client.poll(started, never)
        assert ("retry the call" in str(failed.value)) == hint


async def test_a_call_in_which_nothing_is_said_has_an_empty_transcript(audio: Path) -> None:
    said: list[dict[str, Any]] = [{"alternatives": [], "channelTag": "1"}, {"alternatives": [{"text": ""}]}]
    async with recognizing(chunks=said) as service:
        client = speechkit(service)
        transcript = await client.poll(await client.start(audio, name=NAME, facts=FACTS), never)
        assert transcript == Transcript("ru-RU", 0.0, "speechkit", ())


async def test_text_without_times_keeps_its_order(audio: Path) -> None:
    said = [{"alternatives": [{"text": text}], "channelTag": "1"} for text in ("привет", "мир")]
    async with recognizing(chunks=said) as service:
        client = speechkit(service)
        transcript = await client.poll(await client.start(audio, name=NAME, facts=FACTS), never)
        assert transcript is not None
        assert transcript.text == "привет\nмир"


async def test_keys_are_in_no_text_and_no_log(audio: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with recognizing() as service:
        client = speechkit(service)
        await client.poll(await client.start(audio, name=NAME, facts=FACTS), never)
        shown = f"{client!r} {client.settings!r} {caplog.text}"
        assert "bucket" in shown
        assert not any(secret in shown for secret in (KEY, "a-secret", "an-id"))


def test_settings_come_from_the_environment_and_say_what_is_missing() -> None:
    env = {"SPEECHKIT_API_KEY": KEY, "SPEECHKIT_BUCKET": "b", "SPEECHKIT_LANGUAGE": "en-US", "SPEECHKIT_MODEL": ""}
    assert SpeechKitSettings.from_env(env) == SpeechKitSettings(bucket="b", api_key=KEY, language="en-US")
    with pytest.raises(ValueError, match="SPEECHKIT_BUCKET"):
        SpeechKitSettings.from_env({"SPEECHKIT_API_KEY": KEY})
    with pytest.raises(ValueError, match="SPEECHKIT_API_KEY"):
        SpeechKitSettings.from_env({"SPEECHKIT_BUCKET": "b"})
    with pytest.raises(ValueError, match="SPEECHKIT_SECRET_ACCESS_KEY"):
        SpeechKitSettings.from_env(env | {"SPEECHKIT_ACCESS_KEY_ID": "a"})
