"""Voices and the files that they become: decoded again, and listened to as far as a test can."""

import array
import asyncio
import base64
import contextlib
import io
import json
import logging
import math
import os
import wave
from collections.abc import Callable
from pathlib import Path

import av
import pytest

from penstock.sandbox import ProgramFailed
from penstock_recipes.readings.providers.voice import Speech
from penstock_recipes.readings.providers.voice.codec import Recording, decode, encode, to_m4a, to_mp3
from penstock_recipes.readings.providers.voice.espeak import EspeakVoice
from penstock_recipes.readings.providers.voice.http import HttpVoice
from tests.kit.fake_http import Answer, Request, fake_server
from tests.kit.until import until

PARAGRAPHS = ["Chapter one. Portraits.", "The moon was full when she was born, and the tide was high. " * 4]
JSON = {"Content-Type": "application/json"}


def loudness(speech: Speech) -> float:
    """Root of the mean square of the samples."""
    samples = array.array("h", speech.samples)
    return math.sqrt(sum(sample * sample for sample in samples) / len(samples))


def wav(seconds: float = 1.0, rate: int = 24_000) -> bytes:
    """A tone, as a service may send it."""
    samples = array.array("h", (int(9000 * math.sin(n / 20)) for n in range(int(rate * seconds))))
    file = io.BytesIO()
    with wave.open(file, "wb") as writing:
        writing.setnchannels(1)
        writing.setsampwidth(2)
        writing.setframerate(rate)
        writing.writeframes(samples.tobytes())
    return file.getvalue()


def broken(speech: Speech) -> Recording:
    raise RuntimeError("no such encoder")


@pytest.mark.parametrize(("encoder", "codec"), [(to_mp3, "mp3"), (to_m4a, "aac")])
async def test_a_recording_decodes_to_the_speech_it_was(encoder: Callable[[Speech], Recording], codec: str) -> None:
    speech = await EspeakVoice().speak(PARAGRAPHS)
    words = sum(len(paragraph.split()) for paragraph in PARAGRAPHS)
    assert 60 * words / 260 < speech.seconds < 60 * words / 100
    assert loudness(speech) > 500
    recording = encoder(speech)
    with av.open(io.BytesIO(recording.data), "r") as container:
        [stream] = container.streams.audio
        assert codec in stream.codec_context.name
        assert container.duration is not None
        assert abs(container.duration / 1e6 - speech.seconds) < 0.3
        if codec == "mp3":
            assert abs((stream.bit_rate or 0) - 128_000) < 1000
            assert abs(len(recording.data) * 8 / speech.seconds - 128_000) < 3000
    again = decode(recording.data)
    assert abs(again.seconds - speech.seconds) < 0.3
    assert abs(loudness(again) - loudness(speech)) < 0.1 * loudness(speech)


async def test_where_mp3_cannot_be_had_there_is_m4a(caplog: pytest.LogCaptureFixture) -> None:
    speech = Speech(wav()[44:], 24_000)
    with caplog.at_level(logging.WARNING):
        recording = encode(speech, (broken, to_m4a))
    assert (recording.ending, recording.type, recording.content_type) == ("m4a", "audio_m4a", "audio/mp4")
    assert "no such encoder" in caplog.text
    assert encode(speech).ending == "mp3"
    with pytest.raises(RuntimeError):
        encode(speech, (broken, broken))


async def test_the_same_text_is_spoken_the_same_way_alone_and_beside_others() -> None:
    alone = [await EspeakVoice().speak([paragraph]) for paragraph in PARAGRAPHS]
    together = await asyncio.gather(*(EspeakVoice().speak([paragraph]) for paragraph in PARAGRAPHS * 3))
    assert together == alone * 3


async def test_no_more_speak_at_once_than_were_allowed() -> None:
    voice, most = EspeakVoice(at_once=2), 0
    speaking = asyncio.gather(*(voice.speak(PARAGRAPHS) for _ in range(6)))
    while not speaking.done():
        most = max(most, len(await _speakers()))
        await asyncio.sleep(0.005)
    assert len(await speaking) == 6
    assert 0 < most <= 2


async def test_a_voice_that_is_not_there_is_named() -> None:
    with pytest.raises(ProgramFailed, match="no voice 'nobody'"):
        await EspeakVoice("nobody").speak(["Hello."])
    assert (await EspeakVoice().speak(["<speak> & “quotes” 東京 \x00 end"])).seconds > 1


async def test_speaking_stops_when_nobody_waits() -> None:
    task = asyncio.create_task(EspeakVoice().speak(PARAGRAPHS[1:] * 1000))
    await until(_speakers)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await _speakers() == []


def _open_files(process: Path) -> list[str]:
    """Those that stay open while one looks."""
    found: list[str] = []
    for each in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(each))  # noqa: PTH115
    return found


async def test_the_voice_inherits_neither_secrets_nor_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://a-password@here")
    ours, theirs = os.pipe()
    os.set_inheritable(ours, True)
    task = asyncio.create_task(EspeakVoice().speak(PARAGRAPHS[1:] * 1000))
    await until(_speakers)
    [pid] = await _speakers()
    process = Path(f"/proc/{pid}")
    assert b"a-password" not in (process / "environ").read_bytes()
    pipe = os.readlink(f"/proc/self/fd/{ours}")  # noqa: PTH115
    assert pipe not in _open_files(process)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    os.close(ours)
    os.close(theirs)


async def _speakers() -> list[str]:
    """Processes of this one's that speak."""
    own = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()  # noqa: ASYNC240
    commands = [Path(f"/proc/{id}/cmdline") for id in own]
    return [command.parent.name for command in commands if command.exists() and b"speaker.py" in command.read_bytes()]


async def test_a_service_may_answer_with_audio_at_once() -> None:
    async with fake_server(lambda _: Answer(200, wav(), {"Content-Type": "audio/wav"})) as server:
        speech = await HttpVoice(server.at("127.0.0.1", "/run"), key="secret", voice="vera").speak(PARAGRAPHS)
    assert abs(speech.seconds - 1) < 0.01
    assert loudness(speech) > 3000
    [asked] = server.requests
    assert asked.headers["authorization"] == "Bearer secret"
    assert json.loads(asked.body) == {"input": {"text": "\n\n".join(PARAGRAPHS), "voice": "vera"}}


@pytest.mark.parametrize("form", ["audio", "audio_url"])
async def test_a_service_may_be_asked_until_it_has_finished(form: str) -> None:
    states = iter(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"])

    def answer(request: Request) -> Answer:
        if request.path == "/files/1.wav":
            return Answer(200, wav(), {"Content-Type": "audio/wav"})
        told = {"id": "job-1", "status": next(states)}
        if told["status"] == "COMPLETED":
            output = base64.b64encode(wav()).decode() if form == "audio" else "/files/1.wav"
            return Answer(200, json.dumps(told | {"output": {form: output}}).encode(), JSON)
        return Answer(200, json.dumps(told).encode(), JSON)

    async with fake_server(answer) as server:
        voice = HttpVoice(server.at("127.0.0.1", "/v2/chatterbox/run"), key="secret", every=0.01)
        assert abs((await voice.speak(["Hello."])).seconds - 1) < 0.01
        paths = [request.path for request in server.requests]
    assert paths[:3] == ["/v2/chatterbox/run"] + ["/v2/chatterbox/status/job-1"] * 2
    # the key is not shown to whoever keeps the files
    assert all("authorization" not in each.headers for each in server.requests if each.path == "/files/1.wav")


async def test_a_service_that_is_busy_is_asked_again() -> None:
    answers = iter(
        [Answer(503), Answer(429, headers={"Retry-After": "0"}), Answer(200, wav(), {"Content-Type": "audio/wav"})]
    )
    async with fake_server(lambda _: next(answers)) as server:
        assert (await HttpVoice(server.url, every=0.01).speak(["Hello."])).seconds > 0.9
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(200, b'{"id": "1", "status": "FAILED", "error": "out of memory"}', JSON), "FAILED: out of memory"),
        (Answer(200, b'{"id": "1", "status": "IN_QUEUE"}', JSON), "not finished within"),
        (Answer(401), "401"),
        (Answer(200, b"not audio", {"Content-Type": "audio/wav"}), "Invalid data"),
    ],
)
async def test_what_a_service_gets_wrong_is_an_error(answer: Answer, problem: str) -> None:
    async with fake_server(lambda _: answer) as server:
        with pytest.raises(Exception, match=problem):
            await HttpVoice(server.url, every=0.01, within=0.05).speak(["Hello."])


async def test_a_text_sounds_the_same_each_time() -> None:
    """To the sample: what is spoken anew after a fault is the same file."""
    first, second = [await EspeakVoice().speak(["Six thick thistle sticks."]) for _ in range(2)]
    assert first == second
