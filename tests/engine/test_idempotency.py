"""Idempotency keys: the same request sent twice is one job, even after that job is long done."""

from typing import Any

import pytest

from penstock.engine import commands
from penstock.errors import IdempotencyMismatch
from penstock.job import JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import all_at_once
from tests.engine.hand import Hand


def test_a_key_outlives_its_job(hand: Hand) -> None:
    id = hand.add(idempotency_key="request 1")
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert hand.state(id) is JobState.SUCCEEDED
    [again] = hand.enqueue(NewJob(kind="work", idempotency_key="request 1"))
    assert (again.id, again.created) == (id, False)
    assert worker.claim() == []


def test_a_key_expires_after_a_day_or_as_long_as_it_was_asked_for(hand: Hand) -> None:
    day, minute = hand.add(idempotency_key="day"), hand.add(idempotency_key="minute", idempotency_ttl=60)
    hand.move_clock(seconds=59)
    assert hand.add(idempotency_key="minute") == minute
    hand.move_clock(seconds=2)
    assert hand.add(idempotency_key="minute") != minute
    assert hand.add(idempotency_key="day") == day
    hand.move_clock(days=1)
    assert hand.add(idempotency_key="day") != day


def test_expired_keys_are_swept_away(hand: Hand) -> None:
    hand.add(idempotency_key="a")
    hand.add(idempotency_key="b", idempotency_ttl=10 * 86400)
    hand.move_clock(days=2)
    hand.run(commands.Maintain())
    assert hand.rows("select key from penstock.idempotency_keys") == [("b",)]


@pytest.mark.parametrize("other", [{"kind": "other"}, {"args": b'{"amount": 2}'}])
def test_the_same_key_for_something_else_is_refused(hand: Hand, other: dict[str, Any]) -> None:
    hand.add(idempotency_key="request 1", args=b'{"amount": 1}')
    with pytest.raises(IdempotencyMismatch, match="request 1 was used for another job"):
        hand.add(**{"kind": "work", "args": b'{"amount": 1}', **other}, idempotency_key="request 1")
    assert hand.value("select count(*) from penstock.jobs") == 1


def test_the_order_of_arguments_makes_no_difference(hand: Hand) -> None:
    id = hand.add(idempotency_key="k", args=b'{"a": 1, "b": 2}')
    assert hand.add(idempotency_key="k", args=b'{"b": 2, "a": 1}') == id


def test_each_owner_has_keys_of_their_own(hand: Hand) -> None:
    ids = {hand.add(idempotency_key="k", owner=owner) for owner in (None, "ada", "bob")}
    assert len(ids) == 3


def test_fifty_clients_with_one_key_at_once_make_one_job(hands: Hands) -> None:
    crowd = [hands() for _ in range(50)]
    assert len(set(all_at_once(crowd, lambda hand: hand.add(idempotency_key="k")))) == 1
    assert crowd[0].value("select count(*) from penstock.jobs") == 1


def test_a_request_that_rolled_back_has_used_up_nothing(hand: Hand) -> None:
    with hand.connection.transaction(force_rollback=True):
        ghost = hand.add(idempotency_key="k")
    id = hand.add(idempotency_key="k")
    assert id != ghost
    assert hand.state(id) is JobState.READY


def test_a_key_remembers_the_job_that_a_unique_key_stood_for(hand: Hand) -> None:
    id = hand.add(unique_key="u")
    assert hand.add(unique_key="u", idempotency_key="i") == id
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert hand.add(unique_key="u", idempotency_key="i") == id


def test_a_long_open_transaction_that_takes_an_expired_key_again_does_not_hold_up_maintenance(hands: Hands) -> None:
    hand, client = hands(), hands()
    client.add(idempotency_key="k")
    for each in (hand, client):
        each.move_clock(days=2)
    with client.connection.transaction():
        client.add(idempotency_key="k")
        hand.do("set statement_timeout = '5s'")
        assert hand.run(commands.Maintain()) is not None
    assert hand.value("select count(*) from penstock.idempotency_keys") == 1
