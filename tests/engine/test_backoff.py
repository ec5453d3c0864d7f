import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.backoff import Backoff
from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.job import JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.kit import saying

CURVES = {
    "seed 000: 60·2^(n−1) up to an hour": (Backoff(60, cap=3600, jitter=0), [60, 120, 240, 480, 960, 1920, 3600, 3600]),
    "seed 001: n·5 s, three times": (Backoff.linear(5), [5, 10, 15]),
    "seed 002: 1, 2, 4, 8… up to a minute": (Backoff(1, cap=60, jitter=0), [1, 2, 4, 8, 16, 32, 60, 60]),
    "seed 003: a visibility timeout": (Backoff.constant(30), [30, 30, 30]),
    "seed 004: 30·2^n up to ten minutes, n having failed before": (
        Backoff(30, cap=600, jitter=0), [30, 60, 120, 240, 480, 600, 600],
    ),
}  # fmt: skip


def delay_in_sql(hand: Hand, policy: Backoff | None, attempt: int) -> float:
    text = None if policy is None else json.dumps(policy.to_json())
    delay: timedelta = hand.value("select penstock.backoff_delay(%s::text::jsonb, %s)", text, attempt)
    return delay.total_seconds()


@pytest.mark.parametrize("name", CURVES)
def test_the_curves_of_the_five_seeds_are_reproduced(hand: Hand, name: str) -> None:
    policy, curve = CURVES[name]
    attempts = range(1, len(curve) + 1)
    assert [policy.delay(attempt) for attempt in attempts] == curve
    assert [delay_in_sql(hand, policy, attempt) for attempt in attempts] == curve


def test_seed_002_waits_a_second_before_anything_was_tried_too(hand: Hand) -> None:
    policy = Backoff(1, cap=60, jitter=0)
    assert policy.delay(0) == delay_in_sql(hand, policy, 0) == 1


policies = st.builds(
    Backoff,
    base=st.floats(0, 1e6),
    cap=st.floats(0, 1e7),
    factor=st.floats(1, 100),
    jitter=st.just(0.0),
    shape=st.sampled_from(("exponential", "linear", "constant")),
)


def test_python_and_sql_agree_on_every_policy(hands: Hands) -> None:
    hand = hands()

    @given(policies, st.integers(0, 200))
    def agree(policy: Backoff, attempt: int) -> None:
        assert delay_in_sql(hand, policy, attempt) == pytest.approx(policy.delay(attempt), rel=1e-9, abs=1e-6)

    agree()


def test_jitter_spreads_around_the_curve_and_no_further(hand: Hand) -> None:
    policy = Backoff(100, jitter=0.2)
    delays = [delay_in_sql(hand, policy, 1) for _ in range(200)]
    assert 80 <= min(delays) < 90
    assert 110 < max(delays) <= 120
    assert (policy.delay(1, dice=lambda: 0.0), policy.delay(1, dice=lambda: 1.0)) == (80, 120)


def test_without_a_policy_the_default_of_python_holds_in_sql(hand: Hand) -> None:
    delays = [delay_in_sql(hand, None, 3) for _ in range(50)]
    assert all(
        Backoff().delay(3, dice=lambda: 0.0) <= delay <= Backoff().delay(3, dice=lambda: 1.0) for delay in delays
    )


def test_a_policy_that_makes_no_sense_does_not_keep_a_failure_from_being_reported(engine: PostgresEngine) -> None:
    senseless: list[dict[str, object]] = [
        {"base": "x"},
        {"factor": 1e300, "cap": 1e308},
        {"cap": "∞"},
        {"jitter": []},
    ]
    for policy in senseless:
        [enqueued] = engine.enqueue([NewJob(kind="k", options={"backoff": policy})])
        lease = engine.run(commands.OpenLease("worker"))
        [claimed] = engine.run(commands.Claim(lease, "default", 1))
        [became] = engine.run(saying.fail(lease, [claimed], [{"error": "boom"}]))
        assert (became.id, became.state) == (enqueued.id, JobState.SCHEDULED)
