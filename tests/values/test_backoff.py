import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Backoff, InvalidInput

seconds = st.floats(0, 1e10)
backoffs = st.builds(
    Backoff,
    base=seconds,
    cap=seconds,
    factor=st.floats(1, 100),
    jitter=st.floats(0, 1),
    shape=st.sampled_from(["exponential", "linear", "constant"]),
)


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        pytest.param(Backoff(1, cap=60, jitter=0), [1, 2, 4, 8, 16, 32, 60, 60], id="the second seed's"),
        pytest.param(Backoff(2, cap=100, factor=3, jitter=0), [2, 6, 18, 54, 100, 100], id="by three"),
        pytest.param(Backoff.linear(10, cap=25), [10, 20, 25, 25], id="linear"),
        pytest.param(Backoff.constant(30), [30, 30, 30], id="constant"),
    ],
)
def test_the_wait_grows_as_its_shape_says_up_to_its_cap(backoff: Backoff, delays: list[float]) -> None:
    assert [backoff.delay(attempt) for attempt in range(1, len(delays) + 1)] == delays


@given(backoffs, st.integers(0, 10**9), st.floats(0, 1))
def test_a_wait_is_finite_and_within_the_cap_and_its_jitter_however_many_attempts_failed(
    backoff: Backoff, attempt: int, dice: float
) -> None:
    delay = backoff.delay(attempt, dice=lambda: dice)
    assert 0 <= delay <= backoff.cap * (1 + backoff.jitter)
    assert math.isfinite(delay)


def test_jitter_spreads_the_wait_evenly_to_both_sides() -> None:
    backoff = Backoff(100, jitter=0.2)
    assert backoff.delay(1, dice=lambda: 0.0) == pytest.approx(80)
    assert backoff.delay(1, dice=lambda: 0.5) == pytest.approx(100)
    assert backoff.delay(1, dice=lambda: 1.0) == pytest.approx(120)


@pytest.mark.parametrize("field", ["base", "cap", "factor", "jitter"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, -math.inf, "5", None], ids=str)
def test_a_number_that_makes_no_sense_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: must be a number between") as refusal:
        Backoff(**{field: value})  # type: ignore[arg-type]
    assert refusal.value.field == field


@pytest.mark.parametrize(("field", "value"), [("factor", 0.99), ("factor", 101), ("jitter", 1.01), ("base", 2e10)])
def test_a_number_out_of_range_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        Backoff(**{field: value})  # type: ignore[arg-type]


def test_an_unknown_shape_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"^shape: 'fibonacci' is none of exponential, linear, constant$"):
        Backoff(shape="fibonacci")  # type: ignore[arg-type]


@given(backoffs)
def test_its_json_says_everything(backoff: Backoff) -> None:
    assert Backoff(**backoff.to_json()) == backoff  # type: ignore[arg-type]
