"""The cursor against a queue kept in a list: what claims by its marks find, and how seldom it looks everywhere."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import ClaimedJob
from penstock.engine import Cursor
from penstock.engine.cursor import MOST_PRIORITIES

Marks = tuple[list[int], list[int], list[UUID]]


def job(id: int, priority: int = 0, turn: int = 0) -> ClaimedJob:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    return ClaimedJob(UUID(int=id), "work", priority, turn, 1, 5, 1, 0, None, None, None, moment, "{}", None)


@dataclass
class Queue:
    """Ready jobs and a clock; a claim does what pick_ready.sql does."""

    now: float = 0.0
    ready: list[ClaimedJob] = field(default_factory=list)
    cost: float = 1.0

    def claim(self, cursor: Cursor, limit: int, *, full: bool = False) -> list[int]:
        claimed = self.best(limit, cursor.marks(full=full))
        if cursor.looked_everywhere:
            self.now += self.cost
        cursor.advance(claimed, limit)
        self.ready = [each for each in self.ready if each not in claimed]
        return [each.id.int for each in claimed]

    def best(self, limit: int, marks: Marks = ([], [], [])) -> list[ClaimedJob]:
        past = {priority: (turn, id) for priority, turn, id in zip(*marks, strict=True)}
        seen = [each for each in self.ready if each.priority not in past or (each.turn, each.id) > past[each.priority]]
        return sorted(seen, key=lambda each: (-each.priority, each.turn, each.id))[:limit]


def started(ready: list[ClaimedJob], claim: int) -> tuple[Queue, Cursor]:
    """A queue and a cursor that knows what a full look costs, so that none is due for 20 seconds."""
    queue = Queue(ready=ready)
    cursor = Cursor(lambda: queue.now)
    queue.claim(cursor, 0)
    queue.claim(cursor, claim)
    return queue, cursor


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0.001, 10), st.integers(1, 60)), min_size=1, max_size=15))
def test_full_looks_never_take_more_than_a_twentieth_of_the_time(rounds: list[tuple[float, int]]) -> None:
    """Apart from the first two of a new cost: one that is dearer than those before may be so for another reason."""
    now, id = 0.0, 0
    cursor = Cursor(lambda: now)
    for cost, claims in rounds:
        looks, since, spent = 0, now, 0.0
        for _ in range(claims):
            cursor.marks()
            if cursor.looked_everywhere:
                assert looks < 2 or spent <= 0.05 * (now - since)
                looks += 1
                if looks == 2:
                    since, spent = now, 0.0
                now, spent = now + cost, spent + cost
            else:
                now += 0.01
            id += 1
            cursor.advance([job(id)], 1)


def test_one_look_that_was_slow_does_not_put_off_the_next() -> None:
    queue, cursor = started([job(1)], 1)
    queue.now, queue.cost = queue.now + 20, 2.5
    queue.claim(cursor, 1)
    assert cursor.full_look_in() == 20 * 1.0


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 1)), max_size=5), st.integers(1, 4)),
        max_size=20,
    )
)
def test_marks_never_pass_over_what_a_full_look_would_find(rounds: list[tuple[list[tuple[int, int]], int]]) -> None:
    """As long as ids and turns ascend, which is when marks are used alone."""
    queue, cursor = started([job(1)], 1)
    id = turn = 1
    for arriving, limit in rounds:
        for priority, step in arriving:
            id, turn = id + 1, turn + step
            queue.ready.append(job(id, priority, turn))
        expected = [each.id.int for each in queue.best(limit)]
        assert queue.claim(cursor, limit) == expected
        assert not cursor.looked_everywhere


def test_what_lands_behind_the_mark_is_found_as_soon_as_a_full_look_is_due() -> None:
    queue, cursor = started([job(10), job(11)], 1)
    queue.ready.append(job(5))
    assert queue.claim(cursor, 1) == [11]
    assert queue.claim(cursor, 1) == []
    assert not cursor.looked_everywhere
    queue.now += 20 * queue.cost
    assert queue.claim(cursor, 1) == [5]
    assert cursor.looked_everywhere


def test_a_more_urgent_job_is_seen_at_once_wherever_the_marks_are() -> None:
    queue, cursor = started([job(10, priority=5), job(11, priority=5)], 1)
    queue.ready += [job(3, priority=9), job(4, priority=1)]
    assert queue.claim(cursor, 3) == [3, 11, 4]


def test_the_mark_of_each_priority_is_the_last_job_taken_of_it() -> None:
    ready = [job(1, priority=5, turn=2), job(2, priority=5, turn=1), job(3, priority=1), job(4, priority=1)]
    _, cursor = started(ready, 4)
    assert cursor.marks() == ([5, 1], [2, 0], [UUID(int=1), UUID(int=4)])


def test_a_full_look_can_be_asked_for() -> None:
    queue, cursor = started([job(10)], 1)
    queue.ready.append(job(5))
    assert queue.claim(cursor, 1, full=True) == [5]
    assert cursor.looked_everywhere


def test_a_full_look_that_comes_back_full_goes_on_from_there() -> None:
    queue, cursor = started([job(1000)], 1)
    queue.ready += [job(id) for id in range(1, 6)]
    assert queue.claim(cursor, 2, full=True) == [1, 2]
    assert queue.claim(cursor, 2) == [3, 4]
    assert not cursor.looked_everywhere


def test_a_full_look_that_comes_back_short_leaves_the_mark_where_it_was() -> None:
    queue, cursor = started([job(1000)], 1)
    queue.ready.append(job(1))
    assert queue.claim(cursor, 2, full=True) == [1]
    assert cursor.marks() == ([0], [0], [UUID(int=1000)])


def test_an_empty_queue_is_looked_through_every_time() -> None:
    queue, cursor = started([], 1)
    queue.ready.append(job(1))
    assert queue.claim(cursor, 1) == [1]


@pytest.mark.parametrize(("priorities", "remembered"), [(MOST_PRIORITIES, True), (MOST_PRIORITIES + 1, False)])
def test_a_queue_of_very_many_priorities_is_claimed_without_marks(priorities: int, remembered: bool) -> None:
    _, cursor = started([job(id, priority=id) for id in range(priorities)], priorities)
    assert bool(cursor.marks()[0]) is remembered
