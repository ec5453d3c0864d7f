"""What can be counted in a transcript. Pure functions: the same transcript gives the same numbers."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from penstock_recipes.calls.providers.analysis import Measures, Overlaps, Silences, Speaker, Term
from penstock_recipes.calls.providers.analysis.stop_words import STOP_WORDS
from penstock_recipes.calls.providers.transcription import Segment, Transcript

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_TERMS = 10
_LONG_PAUSE = 1.0
_SHORTEST_TERM = 3
_SHORTEST_UNKNOWN_TERM = 5
"""In a language whose stop words are not known, short words are taken for them."""

Stretch = tuple[float, float]


def measure(transcript: Transcript) -> Measures:
    segments = [segment for segment in transcript.segments if segment.end >= segment.start]
    spoken = _length(_union(segments))
    words = sum(map(count_words, segments))
    alone = {number: [each for each in segments if each.speaker == number] for number in _speakers(segments)}
    total = sum(_length(_union(said)) for said in alone.values())
    return Measures(
        seconds=round(transcript.seconds, 2),
        spoken=spoken,
        words=words,
        words_per_minute=_pace(words, spoken),
        speakers=tuple(_speaker(number, said, total) for number, said in alone.items()),
        pauses=_pauses(_union(segments)),
        overlaps=_overlaps([_union(said) for said in alone.values()]),
        terms=find_terms(transcript),
    )


def count_words(segment: Segment) -> int:
    return len(segment.words) or len(_WORD.findall(segment.text))


def find_terms(transcript: Transcript) -> tuple[Term, ...]:
    """The words said most often that are not said in any talk."""
    stop_words = STOP_WORDS.get(transcript.language[:2].lower())
    shortest = _SHORTEST_TERM if stop_words is not None else _SHORTEST_UNKNOWN_TERM
    said = Counter(
        word
        for segment in transcript.segments
        for word in (found.lower().replace("’", "'") for found in _WORD.findall(segment.text))
        if len(word) >= shortest and word not in (stop_words or ())
    )
    often = sorted(said.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Term(term, count) for term, count in often[:_TERMS])


def _speakers(segments: Iterable[Segment]) -> list[int]:
    return sorted({segment.speaker for segment in segments})


def _speaker(number: int, said: list[Segment], total: float) -> Speaker:
    seconds = _length(_union(said))
    words = sum(map(count_words, said))
    return Speaker(number, seconds, round(seconds / total, 3) if total else 0.0, words, _pace(words, seconds))


def _union(segments: Iterable[Segment]) -> list[Stretch]:
    """Stretches that do not touch, in order."""
    joined: list[Stretch] = []
    for start, end in sorted((segment.start, segment.end) for segment in segments):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _length(stretches: list[Stretch]) -> float:
    return round(sum(end - start for start, end in stretches), 2)


def _pace(words: int, seconds: float) -> float | None:
    return round(60 * words / seconds, 1) if words and seconds else None


def _pauses(spoken: list[Stretch]) -> Silences:
    """Between the first word and the last: what is before and after is waiting, not a pause."""
    gaps = [round(start - end, 2) for (_, end), (start, _) in pairwise(spoken)]
    long = [gap for gap in gaps if gap > _LONG_PAUSE]
    return Silences(len(long), max(long, default=0.0), round(sum(long), 2))


def _overlaps(each: list[list[Stretch]]) -> Overlaps:
    """Swept from left to right: how many speak at each moment."""
    changes = sorted((at, change) for said in each for start, end in said for at, change in ((start, 1), (end, -1)))
    count, total, speaking, since = 0, 0.0, 0, 0.0
    for at, change in changes:
        if speaking >= 2:
            total += at - since
        if speaking == 1 and change == 1:
            count += 1
        speaking += change
        since = at
    return Overlaps(count, round(total, 2))
