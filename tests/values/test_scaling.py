"""How many workers a backlog calls for."""

import math
from dataclasses import asdict, dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.worker.supervisor import TOO_OLD, wanted_workers


@dataclass(frozen=True)
class Backlog:
    ready: int
    running: int
    oldest_s: float | None
    slots: int
    workers: int
    least: int
    most: int

    @property
    def wanted(self) -> int:
        return wanted_workers(**asdict(self))


@st.composite
def backlogs(draw: st.DrawFn) -> Backlog:
    least = draw(st.integers(1, 20))
    return Backlog(
        ready=draw(st.integers(0, 10_000)),
        running=draw(st.integers(0, 1_000)),
        oldest_s=draw(st.none() | st.floats(0, 1e6)),
        slots=draw(st.integers(1, 100)),
        workers=draw(st.integers(0, 50)),
        least=least,
        most=draw(st.integers(least, 40)),
    )


@given(backlogs())
def test_never_outside_of_the_limits(backlog: Backlog) -> None:
    assert backlog.least <= backlog.wanted <= backlog.most


@given(backlogs(), st.integers(0, 1_000))
def test_more_at_hand_never_calls_for_fewer(backlog: Backlog, more: int) -> None:
    assert replace(backlog, ready=backlog.ready + more).wanted >= backlog.wanted
    assert replace(backlog, running=backlog.running + more).wanted >= backlog.wanted


@given(backlogs(), st.floats(0, 1e6))
def test_longer_waits_never_call_for_fewer(backlog: Backlog, longer: float) -> None:
    assert replace(backlog, oldest_s=(backlog.oldest_s or 0) + longer).wanted >= backlog.wanted


@given(backlogs())
def test_as_many_as_have_slots_for_everything_at_hand(backlog: Backlog) -> None:
    roomy = replace(backlog, oldest_s=None, least=1, most=100_000)
    assert roomy.wanted == max(1, math.ceil((backlog.ready + backlog.running) / backlog.slots))


@given(backlogs(), st.floats(TOO_OLD, 1e6, exclude_min=True))
def test_jobs_that_wait_too_long_call_for_one_more_however_few_they_are(backlog: Backlog, waited: float) -> None:
    waiting = replace(backlog, ready=1, running=0, oldest_s=waited, least=1, most=1_000)
    assert waiting.wanted == waiting.workers + 1


@given(backlogs())
def test_an_empty_queue_calls_for_the_fewest(backlog: Backlog) -> None:
    assert replace(backlog, ready=0, running=0).wanted == backlog.least
