"""Recordings made for the tests: tones, speech and silence, in files of every kind."""

import math
from array import array
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import av

from penstock_recipes.readings.providers.voice.espeak import EspeakVoice

RATE = 48_000


def tone(seconds: float, hertz: float = 440.0, rate: int = RATE, level: int = 8_000) -> "array[int]":
    return array("h", (round(level * math.sin(2 * math.pi * hertz * at / rate)) for at in range(int(seconds * rate))))


def silence(seconds: float, rate: int = RATE) -> "array[int]":
    return array("h", bytes(2 * int(seconds * rate)))


def write_media(
    path: Path,
    *channels: "array[int]",
    container: str,
    codec: str,
    rate: int = RATE,
    layout: str | None = None,
    video: bool = False,
) -> Path:
    """A file with an audio track, if any channel is given, and a video track, if wanted."""
    with av.open(str(path), "w", format=container) as out:
        pictures = out.add_stream("mpeg4", rate=5, width=64, height=48, pix_fmt="yuv420p") if video else None
        if channels:
            layout = layout or ("stereo" if len(channels) == 2 else "mono")
            sound = out.add_stream(codec, rate=rate, layout=layout)
            assert isinstance(sound, av.AudioStream)
            for frame in _frames(channels, rate, layout):
                out.mux(sound.encode(frame))
            out.mux(sound.encode(None))
        if pictures is not None:
            assert isinstance(pictures, av.VideoStream)
            for at in range(5):
                picture = av.VideoFrame(64, 48, "yuv420p")
                picture.pts = at
                out.mux(pictures.encode(picture))
            out.mux(pictures.encode(None))
    return path


def write_wav(path: Path, *channels: "array[int]", rate: int = RATE) -> Path:
    return write_media(path, *channels, container="wav", codec="pcm_s16le", rate=rate)


def _frames(channels: "tuple[array[int], ...]", rate: int, layout: str) -> "list[av.AudioFrame]":
    mixed = array("h", bytes(2 * len(channels) * len(channels[0])))
    for number, samples in enumerate(channels):
        mixed[number :: len(channels)] = samples
    step = 1024 * len(channels)
    frames = []
    for at in range(0, len(mixed), step):
        piece = mixed[at : at + step]
        frame = av.AudioFrame(format="s16", layout=layout, samples=len(piece) // len(channels))
        frame.planes[0].update(piece.tobytes().ljust(frame.planes[0].buffer_size, b"\0"))
        frame.sample_rate = rate
        frames.append(frame)
    return frames


@dataclass(frozen=True)
class Sound:
    codec: str
    rate: int
    channels: "tuple[array[int], ...]"

    @property
    def seconds(self) -> float:
        return len(self.channels[0]) / self.rate

    def loudness(self, channel: int = 0) -> float:
        samples = self.channels[channel]
        return math.sqrt(sum(each * each for each in samples) / len(samples))

    def hertz(self, channel: int = 0) -> float:
        """By how often it crosses zero, upwards."""
        samples = self.channels[channel]
        return sum(one < 0 <= two for one, two in pairwise(samples)) / self.seconds


def read_sound(path: Path) -> Sound:
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="s16p", layout=stream.layout.name, rate=stream.rate)
        channels = tuple(array("h") for _ in range(stream.channels))
        for frame in [*container.decode(stream), None]:
            for piece in resampler.resample(frame):
                for samples, plane in zip(channels, piece.planes, strict=True):
                    samples.frombytes(bytes(plane)[: 2 * piece.samples])
        return Sound(stream.codec_context.name, stream.rate, channels)


async def say(text: str) -> "tuple[int, array[int]]":
    """Speech without the silence around it. Of espeak's voices this one is nearest to those the recognizers learnt."""
    speech = await EspeakVoice("en-us+f5", 130).speak([text])
    samples = array("h", speech.samples)
    loud = [at for at, level in enumerate(samples) if abs(level) > 300]
    return speech.rate, samples[loud[0] : loud[-1]]
