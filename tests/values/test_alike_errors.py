"""Errors that are alike meet in one group, and histograms tell percentiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics import percentile
from penstock.worker.alike import LONGEST, alike


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("timed out after 30 s", "timed out after <number> s"),
        ("timed out after 0.25 s", "timed out after <number> s"),
        ("no job 53b4311a-2e0e-4096-89e8-95392ea3c836 here", "no job <id> here"),
        ("can't open 'a b.txt' for \"ada\"", "can't open <text> for <text>"),
        ("can't and won't", "can't and won't"),
        ("at 0x7f3a2b of 9f86d081884c7d659a2feaa0c55ad015", "at <number> of <number>"),
        ("10.0.0.7:5432 refused", "<number> refused"),
        ("\n  first   line\nsecond 7", "first line"),
        ("", "no message"),
        ("x" * 500, "x" * LONGEST),
    ],
)
def test_what_is_of_one_run_only_is_left_out(message: str, told: str) -> None:
    assert alike(message) == told


@given(st.text(alphabet="ab <>.", max_size=30), st.integers(0, 10**9), st.integers(0, 10**9))
def test_messages_that_differ_by_a_number_are_alike(words: str, one: int, other: int) -> None:
    assert alike(f"{words} {one} {words}") == alike(f"{words} {other} {words}")


@given(st.text(max_size=1500))
def test_any_message_gives_a_line_that_can_be_stored(message: str) -> None:
    told = alike(message)
    assert 0 < len(told) <= LONGEST
    assert len(told.splitlines()) == 1


@given(st.lists(st.floats(0, 10_000), min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_percentile_is_within_the_bucket_of_the_one_it_is(seconds: list[float], share: float) -> None:
    buckets = [0] * 25
    for each in seconds:
        buckets[min(int(each * 1000).bit_length(), 24)] += 1
    found = percentile(buckets, share)
    assert found is not None
    place = min(len(seconds) - 1, max(0, -int(-share * len(seconds) // 1) - 1))
    exact = sorted(seconds)[place]
    if exact < 8388:
        assert exact / 2 - 0.001 <= found <= 2 * exact + 0.002


def test_no_runs_have_no_percentile() -> None:
    assert percentile([], 0.5) is None
    assert percentile([0, 0], 0.99) is None
