"""What the offline analyst counts, and what it says about it."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_recipes.calls.providers.analysis import Analysis, Analyst, Overlaps, Silences, Speaker, Term
from penstock_recipes.calls.providers.analysis.claude import ClaudeAnalyst
from penstock_recipes.calls.providers.analysis.measures import find_terms, measure
from penstock_recipes.calls.providers.analysis.offline import OfflineAnalyst
from penstock_recipes.calls.providers.transcription import Segment, Transcript, Word


def call(*segments: Segment, seconds: float = 60.0, language: str = "en-US") -> Transcript:
    return Transcript(language, seconds, "test", segments)


INVOICE = call(
    Segment(2.0, 8.0, 1, "Hello, you are calling about the invoice for the garden?"),
    Segment(7.0, 11.0, 2, "Yes, the invoice. The invoice is wrong, and the garden is flooded!"),
    Segment(14.5, 20.5, 1, "I will send a new invoice. Anything else?"),
    Segment(20.75, 22.75, 2, "No, thank you."),
    Segment(24.75, 26.75, 1, "Good bye."),
)


def test_talk_pauses_overlaps_and_pace_are_counted() -> None:
    measures = measure(INVOICE)
    assert measures.seconds == 60.0
    assert measures.spoken == 9.0 + 6.0 + 2.0 + 2.0
    assert measures.speakers == (
        Speaker(1, 14.0, 0.7, 20, 85.7),
        Speaker(2, 6.0, 0.3, 15, 150.0),
    )
    # before the first word and after the last nobody pauses; a quarter of a second is none either
    assert measures.pauses == Silences(2, 3.5, 5.5)
    assert measures.overlaps == Overlaps(1, 1.0)
    assert (measures.words, measures.words_per_minute) == (35, 110.5)
    assert measures.terms[:2] == (Term("invoice", 4), Term("garden", 2))
    assert all(term.count == 1 for term in measures.terms[2:])


async def test_the_summary_says_it_in_plain_words() -> None:
    analysis = await OfflineAnalyst().analyze(INVOICE)
    assert analysis.analyst == "offline"
    assert analysis.opinion is None
    assert analysis.summary == (
        "A call of 1 minute with two speakers. Speaker 1 had 70% of the talk at 86 words a minute. Speaker 2 had 30% "
        "of the talk at 150 words a minute. Two long pauses, 5.5 seconds in all, the longest of 3.5 seconds. They "
        "spoke at the same time once, for 1.0 seconds. Words that came up: invoice, garden, bye, calling, flooded."
    )


@pytest.mark.parametrize(
    ("transcript", "summary"),
    [
        (call(seconds=3723), "A recording of 1 hour 2 minutes 3 seconds in which nobody speaks."),
        (call(Segment(0, 3, 1, "")), "A call of 1 minute with one speaker. Speaking took 3 seconds."),
        (
            call(Segment(0, 3, 1, "Dear all"), Segment(5, 6, 1, "")),
            "A call of 1 minute with one speaker. Speaking took 4 seconds at 30 words a minute. One long pause, 2.0 "
            "seconds in all. Words that came up: dear.",
        ),
    ],
)
async def test_a_call_with_little_in_it_has_a_summary_too(transcript: Transcript, summary: str) -> None:
    assert (await OfflineAnalyst().analyze(transcript)).summary == summary


def test_terms_are_found_in_russian_and_in_a_language_it_does_not_know() -> None:
    russian = "Здравствуйте, я хочу вернуть билет. Билет на поезд, да, этот билет. Спасибо!"
    assert find_terms(call(Segment(0, 1, 1, russian), language="ru-RU"))[0] == Term("билет", 3)
    assert "спасибо" not in {term.term for term in find_terms(call(Segment(0, 1, 1, russian), language="ru-RU"))}
    turkish = call(Segment(0, 1, 1, "ve bu da bir fatura, bir fatura daha"), language="tr-TR")
    assert find_terms(turkish) == (Term("fatura", 2),)


def test_words_that_a_recognizer_counted_are_not_counted_again() -> None:
    said = Segment(0, 60, 1, "212-85-06", None, (Word(0, 1, "two"), Word(1, 2, "one"), Word(2, 3, "two")))
    assert measure(call(said)).words == 3


MOMENTS = st.floats(0, 600, allow_nan=False).map(lambda each: round(each, 2))
SEGMENTS = st.builds(
    lambda start, length, speaker, text: Segment(start, round(start + length, 2), speaker, text),
    MOMENTS, MOMENTS, st.integers(1, 3), st.text(max_size=40),
)  # fmt: skip


@settings(max_examples=50)
@given(st.lists(SEGMENTS, max_size=8), st.randoms())
def test_the_numbers_agree_with_each_other_in_any_order(segments: list[Segment], random: Random) -> None:
    measures = measure(call(*segments, seconds=1200))
    together = sum(speaker.seconds for speaker in measures.speakers)
    assert measures.spoken <= together + 0.02
    assert sum(speaker.share for speaker in measures.speakers) == pytest.approx(1 if together else 0, abs=0.01)
    assert measures.overlaps.total <= measures.spoken + 0.02
    assert measures.pauses.longest <= measures.pauses.total + 0.02
    random.shuffle(segments)
    assert measure(call(*segments, seconds=1200)) == measures


async def test_an_analysis_is_the_same_after_a_journey_through_json() -> None:
    analysis = await OfflineAnalyst().analyze(INVOICE)
    told = analysis.to_json()
    assert Analysis.from_json(told) == analysis
    assert (await OfflineAnalyst().analyze(Transcript.from_json(INVOICE.to_json()))).to_json() == told


def test_both_analysts_are_analysts() -> None:
    every: list[Analyst] = [OfflineAnalyst(), ClaudeAnalyst()]
    assert [each.name for each in every] == ["offline", "claude"]
