"""Listens to one recording and ends: where somebody speaks, and what is said, by the best recognizer that is installed.

Run in a sandbox, for the recording is a stranger's; it therefore imports nothing of ours. The same recording gives the
same transcript each time.

moonshine is a small neural network, wrong about one word in fifteen of a clear recording; pocketsphinx is older,
smaller, and wrong about every third. Without either there is no text, but still when each one spoke.
"""

import io
from array import array
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from operator import mul
from typing import Any, BinaryIO, NamedTuple

RATE = 16_000
FRAME = 320
"""Samples of which the loudness is taken together: 20 ms."""
_QUIETEST = 60.0
"""The lowest level that may be speech, of 32768."""
_OVER_THE_NOISE = 4.0
_BELOW_THE_VOICE = 0.15
_PAUSE = 15
"""Frames of silence that end a segment: 300 ms."""
_SHORTEST = 9
_LONGEST = 900
"""Frames after which a segment is divided at its quietest place: 18 s."""
_MARGIN = 8
"""Frames of silence that a recognizer hears on both sides."""


class Span(NamedTuple):
    """Frames, the last one not included."""

    first: int
    last: int


class Heard(NamedTuple):
    text: str
    confidence: float | None
    words: list[dict[str, Any]]


Recognize = Callable[["array[int]"], Heard]


def find_speech(levels: list[float]) -> list[Span]:
    """Where somebody speaks, by how loud each frame is. The noise of the line and the loudness of the voice are taken
    from the whole recording, so a quiet call is heard as well as a loud one."""
    if not levels:
        return []
    ordered = sorted(levels)
    noise, voice = ordered[len(ordered) // 10], ordered[len(ordered) * 19 // 20]
    threshold = max(_QUIETEST, min(noise * _OVER_THE_NOISE, voice * _BELOW_THE_VOICE))
    spans: list[Span] = []
    for at, level in enumerate(levels):
        if level < threshold:
            continue
        if spans and at - spans[-1].last < _PAUSE:
            spans[-1] = Span(spans[-1].first, at + 1)
        else:
            spans.append(Span(at, at + 1))
    return [part for span in spans if span.last - span.first >= _SHORTEST for part in _divide(span, levels)]


def _divide(span: Span, levels: list[float]) -> Iterator[Span]:
    first, last = span
    while last - first > _LONGEST:
        middle = min(range(first + _LONGEST // 2, first + _LONGEST), key=levels.__getitem__)
        yield Span(first, middle)
        first = middle
    yield Span(first, last)


def with_margins(spans: list[Span], frames: int) -> list[Span]:
    """Each with some silence around it, but nothing of its neighbours."""
    if not spans:
        return []  # nobody speaks on this channel
    edges = [0, *((one.last + next_.first) // 2 for one, next_ in pairwise(spans)), frames]
    return [
        Span(max(span.first - _MARGIN, before), min(span.last + _MARGIN, after))
        for span, (before, after) in zip(spans, pairwise(edges), strict=True)
    ]


def decode(source: BinaryIO) -> "Iterator[list[array[int]]]":
    """The samples of each channel, a piece at a time."""
    import av

    # only the file that our own encoder wrote, and nothing that it might refer to
    options = {"format_whitelist": "ogg", "protocol_whitelist": "none"}
    source.seek(0)
    with av.open(source, "r", container_options=options) as container:
        stream = container.streams.audio[0]
        stream.codec_context.thread_count = 1
        resampler = av.AudioResampler(format="s16p", layout=stream.layout.name, rate=RATE)
        for frame in _with_end(container.decode(stream)):
            for piece in resampler.resample(frame):
                yield [array("h", bytes(plane)[: 2 * piece.samples]) for plane in piece.planes]


def _with_end(frames: Iterator[Any]) -> Iterator[Any]:
    yield from frames
    yield None


def measure(source: BinaryIO) -> list[list[float]]:
    """How loud each channel is, frame by frame."""
    levels: list[list[float]] = []
    rest: list[array[int]] = []
    for piece in decode(source):
        if not levels:
            levels, rest = [[] for _ in piece], [array("h") for _ in piece]
        for channel, samples in enumerate(piece):
            rest[channel].extend(samples)
            whole = len(rest[channel]) // FRAME * FRAME
            for at in range(0, whole, FRAME):
                frame = rest[channel][at : at + FRAME]
                levels[channel].append((sum(map(mul, frame, frame)) / FRAME) ** 0.5)
            del rest[channel][:whole]
    return levels


def cut(source: BinaryIO, channel: int, spans: list[Span]) -> "Iterator[array[int]]":
    """The samples of each span of one channel."""
    waiting = iter(spans)
    span = next(waiting, None)
    held, start = array("h"), 0
    for piece in decode(source):
        if span is None:
            return
        held.extend(piece[channel])
        while span is not None and start + len(held) >= span.last * FRAME:
            yield held[span.first * FRAME - start : span.last * FRAME - start]
            span = next(waiting, None)
        passed = min(len(held), max(0, span.first * FRAME - start)) if span is not None else len(held)
        del held[:passed]
        start += passed


def pocketsphinx() -> tuple[str, str, Recognize]:
    from pocketsphinx import Decoder

    # batch: what was heard before does not colour what is heard next
    decoder = Decoder(loglevel="FATAL", cmn="batch")

    def recognize(samples: "array[int]") -> Heard:
        decoder.start_utt()
        decoder.process_raw(samples.tobytes(), no_search=False, full_utt=True)
        decoder.end_utt()
        words = [
            {
                "start": part.start_frame / 100,
                "end": (part.end_frame + 1) / 100,
                "text": part.word.partition("(")[0],
                "confidence": round(min(1.0, part.prob), 3),
            }
            for part in (decoder.seg() or ())
            if part.word[0] not in "<["
        ]
        sure = round(sum(word["confidence"] for word in words) / len(words), 3) if words else None
        return Heard(" ".join(word["text"] for word in words), sure, words)

    return "pocketsphinx", "en-US", recognize


def moonshine() -> tuple[str, str, Recognize]:
    package = import_module("moonshine_voice")
    model = package.get_model_path("tiny-en")
    if not (model / "encoder_model.ort").is_file():
        raise ImportError("this version of moonshine-voice comes without its model: take 0.0.49")
    # it has an ear of its own for silence and for who speaks; both are known here already
    options = {"vad_threshold": "0.0", "identify_speakers": "false"}
    transcriber = package.Transcriber(str(model), package.ModelArch.TINY, options=options)

    def recognize(samples: "array[int]") -> Heard:
        lines = transcriber.transcribe_without_streaming([each / 32768 for each in samples], RATE).lines
        return Heard(" ".join(line.text.strip() for line in lines if line.text.strip()), None, [])

    return "moonshine", "en-US", recognize


def voice_activity() -> tuple[str, str, Recognize]:
    return "voice-activity", "und", lambda _: Heard("", None, [])


RECOGNIZERS = {each.__name__: each for each in (moonshine, pocketsphinx, voice_activity)}


def choose(wanted: str | None) -> tuple[str, str, Recognize]:
    """The one that is wanted, or the best that is here."""
    if wanted is not None:
        return RECOGNIZERS[wanted]()
    for recognizer in (moonshine, pocketsphinx):
        try:
            return recognizer()
        except (ImportError, OSError):  # not installed, or not for this machine
            continue
    return voice_activity()


class Refused(Exception):
    """The recording cannot be read, though it was made by our own encoder."""


_chosen: list[tuple[str, str, Recognize]] = []
"""By `prepare`, and never freed: moonshine crashes when it is."""


def prepare(recognizer: str | None) -> None:
    """Loads the recognizer and the decoder, and lets them hear a second of silence: some is loaded only then."""
    import av

    chosen = choose(recognizer)
    chosen[2](array("h", bytes(2 * RATE)))
    _chosen.append(chosen)
    silence = io.BytesIO()
    with av.open(silence, "w", format="ogg") as container:
        stream = container.add_stream("libopus", rate=48_000, layout="mono")
        frame = av.AudioFrame(format="s16", layout="mono", samples=48_000)
        frame.planes[0].update(bytes(2 * 48_000))
        frame.sample_rate = 48_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    measure(silence)


def listen(data: bytes, source: BinaryIO, recognizer: str | None) -> tuple[dict[str, Any], bytes]:  # noqa: ARG001
    [(name, language, recognize)] = _chosen
    try:
        levels = measure(source)
    except (ValueError, OSError) as error:
        raise Refused(f"the audio to be transcribed cannot be read: {type(error).__name__}") from error
    segments = []
    for channel, loudness in enumerate(levels):
        spans = find_speech(loudness)
        wide = with_margins(spans, len(loudness))
        for span, around, samples in zip(spans, wide, cut(source, channel, wide), strict=True):
            heard = recognize(samples)
            offset = _seconds(around.first)
            words = [
                word | {"start": round(word["start"] + offset, 2), "end": round(word["end"] + offset, 2)}
                for word in heard.words
            ]
            segments.append(
                {
                    "start": _seconds(span.first),
                    "end": _seconds(span.last),
                    "speaker": channel + 1,
                    "text": heard.text,
                    "confidence": heard.confidence,
                    "words": words,
                }
            )
    segments.sort(key=lambda segment: (segment["start"], segment["speaker"]))
    seconds = _seconds(max(map(len, levels), default=0))
    return {"language": language, "seconds": seconds, "transcriber": name, "segments": segments}, b""


def _seconds(frames: int) -> float:
    return round(frames * FRAME / RATE, 2)
