"""Speech as a file: MP3 of 128 kbps, or M4A where that cannot be had. Never WAV, which is ten times as large."""

import io
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock_recipes.readings.providers.voice import Speech

log = logging.getLogger(__name__)
BIT_RATE = 128_000


@dataclass(frozen=True, slots=True)
class Recording:
    ending: str
    type: str
    content_type: str
    data: bytes


def to_mp3(speech: Speech) -> Recording:
    import lameenc

    encoder = lameenc.Encoder()
    encoder.set_bit_rate(BIT_RATE // 1000)
    encoder.set_in_sample_rate(speech.rate)
    encoder.set_channels(1)
    encoder.set_quality(7)  # of speech it cannot be told from 2, and takes half as long
    encoder.silence()
    data = bytes(encoder.encode(speech.samples)) + bytes(encoder.flush())
    return Recording("mp3", "audio_mp3", "audio/mpeg", data)


def to_m4a(speech: Speech) -> Recording:
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="ipod") as container:
        stream = container.add_stream("aac", rate=speech.rate, layout="mono")
        stream.bit_rate = BIT_RATE
        frame = av.AudioFrame(format="s16", layout="mono", samples=len(speech.samples) // 2)
        frame.planes[0].update(speech.samples)
        frame.sample_rate = speech.rate
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=speech.rate, frame_size=1024)
        for converted in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(converted))
        container.mux(stream.encode(None))
    return Recording("m4a", "audio_m4a", "audio/mp4", file.getvalue())


Encoder = Callable[[Speech], Recording]
ENCODERS: tuple[Encoder, ...] = (to_mp3, to_m4a)


def encode(speech: Speech, encoders: Sequence[Encoder] = ENCODERS) -> Recording:
    """By the first that can. What the last one raises is raised."""
    for encoder in encoders[:-1]:
        try:
            return encoder(speech)
        except Exception as error:
            log.warning("%s failed, so the next best is taken: %s", encoder.__name__, error)
    return encoders[-1](speech)


def decode(data: bytes) -> Speech:
    """Any audio file as speech."""
    import av

    with av.open(io.BytesIO(data), "r") as container:
        [stream] = container.streams.audio[:1]
        rate = stream.rate or 22_050
        resampler = av.AudioResampler(format="s16", layout="mono", rate=rate)
        samples = bytearray()
        for frame in [*container.decode(stream), None]:
            for converted in resampler.resample(frame):
                samples += bytes(converted.planes[0])[: 2 * converted.samples]
    return Speech(bytes(samples), rate)
