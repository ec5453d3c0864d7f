"""What the pipeline makes of a recording: its sound as FLAC, and that as the OGG Opus that recognizers take.

FLAC of 16 bits and 16 kHz: nothing is lost that a telephone carried, a recognizer works at 16 kHz, and 48 kHz would be
two to three times as large. Two channels stay two, for they are two people; unless both say the same. The same file
gives the same bytes with the same PyAV and kind of processor: nothing random and no time of day is written.

The functions here decode in the calling thread. A stranger's file may crash a decoder, stall it or take it over, so a
handler calls their twins in `audio`, which run this file in a sandbox. It therefore imports nothing of ours.
"""

import io
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import mul, sub
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

if TYPE_CHECKING:
    from av import AudioFrame, AudioResampler, AudioStream
    from av.container import InputContainer

MAX_SECONDS = 4 * 3600.0
"""What SpeechKit takes at most. A tiny file may hold years of silence."""

RATE = 16_000
_OPUS_RATE = 48_000
_OPUS_BIT_RATE = 32_000
_FORMATS = (
    "aac", "aiff", "amr", "asf", "au", "avi", "caf", "flac", "flv", "matroska", "mov", "mp3", "mpeg", "mpegts", "ogg",
    "w64", "wav",
)  # fmt: skip
"""Demuxers of files that hold their sound themselves. Playlists (hls, dash, concat…) are files that make the library
open other files and addresses, on behalf of whoever uploaded one."""
_RATES = range(4_000, 768_001)
_SAME = 0.01
"""Two channels that differ by less than a hundredth of their energy are one, recorded twice."""
_LOOKED_AT = 16
"""Each so-many-eth sample is compared: an hour then takes less than a second."""


class AudioFacts(msgspec.Struct, frozen=True):
    seconds: float
    channels: int
    rate: int


class NoAudio(Exception):
    """The file holds no sound that could be used, whatever number of attempts is made; the message is for people."""


Refused = NoAudio
Answer = tuple[dict[str, float], bytes]
"""Facts, and no bytes: what is made is in a file."""


def extract_audio(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """The sound of any audio or video file, as FLAC."""
    with made(to) as folded, source.open("rb") as file, to.open("w+b") as flac, folded.open("w+b") as mono:
        facts, _ = extract(b"", file, flac, mono, max_seconds)
    return msgspec.convert(facts, AudioFacts)


def to_ogg_opus(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """OGG Opus as SpeechKit takes it: 48 kHz, 32 kbit/s a channel."""
    with made(to), source.open("rb") as file, to.open("w+b") as ogg:
        facts, _ = convert(b"", file, ogg, max_seconds)
    return msgspec.convert(facts, AudioFacts)


@contextmanager
def made(to: Path) -> Iterator[Path]:
    """Gives the path of a file in which the two channels are one. It takes the other's place if there is something in
    it; neither is left if the block fails."""
    folded = to.with_name(f"{to.name}.mono")
    try:
        yield folded
        if folded.exists() and folded.stat().st_size:
            folded.replace(to)
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    finally:
        folded.unlink(missing_ok=True)


def prepare(**_: object) -> None:
    """Whatever is loaded when it is first needed, and can only be loaded while files may be opened."""
    import av

    flac, mono, ogg = io.BytesIO(), io.BytesIO(), io.BytesIO()
    source = io.BytesIO()
    with av.open(source, "w", format="wav") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE, layout="stereo")
        frame = av.AudioFrame(format="s16", layout="stereo", samples=RATE // 10)
        frame.planes[0].update(bytes(4 * frame.samples))
        frame.sample_rate = RATE
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    extract(b"", _rewound(source), flac, mono, 60.0)
    convert(b"", _rewound(mono), ogg, 60.0)
    with suppress(NoAudio):
        extract(b"", io.BytesIO(b"none"), io.BytesIO(), io.BytesIO(), 60.0)


def extract(data: bytes, source: BinaryIO, to: BinaryIO, folded: BinaryIO, max_seconds: float) -> Answer:  # noqa: ARG001
    with _opened(source, _FORMATS) as (container, stream):
        layout = "stereo" if stream.channels == 2 else "mono"
        alike = _Alike()
        frames = alike.watch(_frames(container, stream, layout, RATE, max_seconds))
        facts = _write_flac(frames, to, layout)
    if layout == "stereo" and alike.same:
        # seldom known before the end, and FLAC is read quickly
        with _opened(_rewound(to), ("flac",)) as (container, stream):
            facts = _write_flac(_frames(container, stream, "mono", RATE, max_seconds), folded, "mono")
    return facts, b""


def convert(data: bytes, source: BinaryIO, to: BinaryIO, max_seconds: float) -> Answer:  # noqa: ARG001
    with _opened(source, _FORMATS) as (container, stream):
        layout = "stereo" if stream.channels == 2 else "mono"
        options = {"application": "voip", "vbr": "on", "compression_level": "5"}
        frames = _frames(container, stream, layout, _OPUS_RATE, max_seconds)
        return _write(frames, to, "ogg", "libopus", layout, _OPUS_RATE, options, _OPUS_BIT_RATE), b""


def _rewound(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


@contextmanager
def _opened(file: BinaryIO, formats: tuple[str, ...]) -> "Iterator[tuple[InputContainer, AudioStream]]":
    try:
        import av
    except ImportError as error:
        raise RuntimeError("reading recordings needs av: pip install 'penstock-recipes[calls]'") from error
    # Three doors are shut: only these demuxers, no protocol, and whatever asks for another file is told no.
    # Reading from a file object alone would not do: a playlist's entries are opened by the library itself.
    options = {"format_whitelist": ",".join(formats), "protocol_whitelist": "none"}
    try:
        container = av.open(
            file, "r", container_options=options, io_open=_refuse, buffer_size=1 << 18, metadata_errors="replace"
        )
    except (av.FFmpegError, ValueError) as error:
        raise NoAudio("the file is no audio or video file that can be read") from error
    with container:
        if not container.streams.audio:
            raise NoAudio("the file has no audio track")
        stream = container.streams.best("audio") or container.streams.audio[0]
        if not isinstance(stream, av.AudioStream) or stream.codec_context is None:
            raise NoAudio("the sound of the file is of a kind that cannot be decoded")
        # a sandboxed program starts no threads
        stream.codec_context.thread_count = 1
        yield container, stream


def _refuse(*_: object) -> object:
    raise NoAudio("the file refers to other files; upload the recording itself")


def _frames(
    container: "InputContainer", stream: "AudioStream", layout: str, rate: int, max_seconds: float
) -> "Iterator[AudioFrame]":
    """Decoded and resampled, a piece at a time. What is broken in the middle is left out, as a player would."""
    import av

    resampler: AudioResampler | None = None
    shape: tuple[str, str, int] | None = None
    samples = 0
    for frame in _decoded(container, stream):
        if frame is not None and frame.sample_rate not in _RATES:
            raise NoAudio(f"{frame.sample_rate} samples a second are not sound")
        found = (frame.format.name, frame.layout.name, frame.sample_rate) if frame is not None else None
        pieces = []
        try:
            if resampler is not None and found != shape:
                pieces += resampler.resample(None)
                resampler = None
            if frame is not None:
                if resampler is None:
                    resampler, shape = av.AudioResampler(format="s16", layout=layout, rate=rate), found
                frame.pts = None
                pieces += resampler.resample(frame)
        except (av.FFmpegError, ValueError) as error:
            raise NoAudio("the sound of the file cannot be converted") from error
        for piece in pieces:
            samples += piece.samples
            if samples > max_seconds * rate:
                raise NoAudio(f"the recording is longer than {max_seconds / 60:g} minutes; upload it in parts")
            piece.pts = samples - piece.samples
            yield piece
    if not samples:
        raise NoAudio("the audio track of the file is empty or broken")


def _decoded(container: "InputContainer", stream: "AudioStream") -> "Iterator[AudioFrame | None]":
    """The frames, and None at the end."""
    import av

    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
            frames = packet.decode()
        except StopIteration:
            break
        except (av.error.InvalidDataError, av.error.PatchWelcomeError):
            continue
        except (av.FFmpegError, ValueError) as error:
            raise NoAudio("the audio track of the file cannot be decoded") from error
        for frame in frames:
            assert isinstance(frame, av.AudioFrame)
            yield frame
    yield None


class _Alike:
    """Listens to two channels for whether they say the same."""

    def __init__(self) -> None:
        self._apart = 0
        self._whole = 0

    @property
    def same(self) -> bool:
        return self._apart <= _SAME * self._whole

    def watch(self, frames: "Iterator[AudioFrame]") -> "Iterator[AudioFrame]":
        for frame in frames:
            if frame.layout.nb_channels == 2:
                samples = array("h", bytes(frame.planes[0])[: 4 * frame.samples])
                left, right = samples[0 :: 2 * _LOOKED_AT], samples[1 :: 2 * _LOOKED_AT]
                apart = list(map(sub, left, right))
                self._apart += sum(map(mul, apart, apart))
                self._whole += sum(map(mul, left, left)) + sum(map(mul, right, right))
            yield frame


def _write_flac(frames: "Iterator[AudioFrame]", to: BinaryIO, layout: str) -> dict[str, float]:
    return _write(frames, to, "flac", "flac", layout, RATE, {"compression_level": "5"})


def _write(
    frames: "Iterator[AudioFrame]",
    to: BinaryIO,
    container_format: str,
    codec: str,
    layout: str,
    rate: int,
    options: dict[str, str],
    bit_rate: int | None = None,
) -> dict[str, float]:
    import av
    from av.codec.context import Flags

    channels = 2 if layout == "stereo" else 1
    samples = 0
    # bitexact: no version of the library is written, and an OGG's serial number is not random
    with av.open(to, "w", format=container_format, container_options={"fflags": "+bitexact"}) as out:
        stream = out.add_stream(codec, rate=rate, layout=layout, options=options)
        assert isinstance(stream, av.AudioStream)
        stream.codec_context.flags |= Flags.bitexact
        stream.codec_context.thread_count = 1
        if bit_rate:
            stream.bit_rate = bit_rate * channels
        for frame in frames:
            samples += frame.samples
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return {"seconds": round(samples / rate, 3), "channels": channels, "rate": rate}
