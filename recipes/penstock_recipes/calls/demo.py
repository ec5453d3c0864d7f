"""Shows the recipe: two people call each other, and what they said is in a folder, with what can be told about it."""

import asyncio
import io
from array import array
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import httpx

from penstock_recipes.demo_client import follow, save
from penstock_recipes.readings.providers.voice import VoiceProvider
from penstock_recipes.readings.providers.voice.espeak import EspeakVoice

if TYPE_CHECKING:
    from rich.progress import Progress

ORG = UUID("0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f")
"""The organisation that the call belongs to: the client's token has to name it."""

CONVERSATION = [
    (0, "Good morning, this is the help desk. What can I do for you today?"),
    (1, "Hello. My order has not arrived, and I would like to know where it is."),
    (0, "I am sorry to hear that. Could you please tell me the number of your order?"),
    (1, "Yes, of course. It is four seven one one."),
    (0, "Thank you. One moment please. Your order was sent on Monday, and it will arrive tomorrow morning."),
    (1, "That is good news. Thank you very much for your help."),
    (0, "You are welcome. Have a nice day."),
]
PAUSE = 0.4
_ENDINGS = {"audio": "audio.flac", "transcript": "transcript.json", "analysis": "analysis.json"}


async def demo(client: httpx.AsyncClient, folder: Path, show: "Progress") -> list[Path]:
    """Uploads a call for ORG, on behalf of whoever the client is authorized as, and returns the files that it left."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    recording = folder / "call.mp4"
    await asyncio.to_thread(recording.write_bytes, await make_call())
    answer = await client.post(
        "/api/v1/calls",
        params={"orgId": str(ORG), "fileName": recording.name},
        content=await asyncio.to_thread(recording.read_bytes),
        headers={"Content-Type": "video/mp4"},
    )
    answer.raise_for_status()
    bar = show.add_task("A call", total=100)
    async for job in follow(client, answer.json()["jobId"]):
        message = job["progress"]["message"] or job["progress"]["phase"] or job["state"]
        show.update(bar, completed=job["progress"]["percent"], description=f"A call: {message}")
    call = (await client.get(answer.headers["location"])).raise_for_status().json()
    if call["status"] != "done":
        raise RuntimeError(f"the call is {call['status']}: {call['error']}")
    show.update(bar, completed=100, description=f"A call of {call['seconds']:.0f} seconds")
    saved = [await save(client, call["files"][type]["url"], folder / name) for type, name in _ENDINGS.items()]
    return [recording, *saved]


async def make_call() -> bytes:
    """Two people who take turns, each on a channel of their own, as an MP4."""
    voices: tuple[VoiceProvider, VoiceProvider] = (EspeakVoice("en-us", 140), EspeakVoice("en-us+f3", 150))
    spoken = await asyncio.gather(*(voices[who].speak([line]) for who, line in CONVERSATION))
    rate = spoken[0].rate
    channels = (array("h"), array("h"))
    silence = array("h", bytes(2 * int(PAUSE * rate)))
    for (who, _), speech in zip(CONVERSATION, spoken, strict=True):
        samples = array("h", speech.samples)
        channels[who].extend(samples + silence)
        channels[1 - who].extend(array("h", bytes(2 * len(samples))) + silence)
    both = array("h", chain.from_iterable(zip(*channels, strict=True)))
    return await asyncio.to_thread(_encode, both.tobytes(), rate)


def _encode(samples: bytes, rate: int) -> bytes:
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=rate, layout="stereo")
        frame = av.AudioFrame(format="s16", layout="stereo", samples=len(samples) // 4)
        frame.planes[0].update(samples)
        frame.sample_rate = rate
        resampler = av.AudioResampler(format="fltp", layout="stereo", rate=rate, frame_size=1024)
        for converted in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(converted))
        container.mux(stream.encode(None))
    return file.getvalue()
