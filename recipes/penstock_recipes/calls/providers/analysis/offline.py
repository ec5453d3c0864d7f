"""The analyst that needs no service: it counts, and says in plain words what it counted."""

from penstock_recipes.calls.providers.analysis import Analysis, Measures, Speaker
from penstock_recipes.calls.providers.analysis.measures import measure
from penstock_recipes.calls.providers.transcription import Transcript

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class OfflineAnalyst:
    name = "offline"

    async def analyze(self, transcript: Transcript) -> Analysis:
        measures = measure(transcript)
        return Analysis(self.name, summarize(measures), measures)


def summarize(measures: Measures) -> str:
    """A few sentences, the same for the same numbers."""
    if not measures.speakers:
        return f"A recording of {_duration(measures.seconds)} in which nobody speaks."
    told = [f"A call of {_duration(measures.seconds)} with {_count(len(measures.speakers), 'speaker')}."]
    told += [_about(speaker, len(measures.speakers)) for speaker in measures.speakers]
    pauses, overlaps = measures.pauses, measures.overlaps
    if pauses.count:
        longest = f", the longest of {pauses.longest:.1f} seconds" if pauses.count > 1 else ""
        told.append(f"{_count(pauses.count, 'long pause').capitalize()}, {pauses.total:.1f} seconds in all{longest}.")
    if overlaps.count:
        often = "once" if overlaps.count == 1 else f"{_number(overlaps.count)} times"
        told.append(f"They spoke at the same time {often}, for {overlaps.total:.1f} seconds.")
    if measures.terms:
        told.append(f"Words that came up: {', '.join(term.term for term in measures.terms[:5])}.")
    return " ".join(told)


def _about(speaker: Speaker, of: int) -> str:
    pace = f" at {speaker.words_per_minute:.0f} words a minute" if speaker.words_per_minute else ""
    if of == 1:
        return f"Speaking took {_duration(speaker.seconds)}{pace}."
    return f"Speaker {speaker.speaker} had {100 * speaker.share:.0f}% of the talk{pace}."


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "hour"), (minutes, "minute"), (rest, "second")]
    return " ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count) or "0 seconds"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _count(count: int, what: str) -> str:
    return f"{_number(count)} {what}{'' if count == 1 else 's'}"
