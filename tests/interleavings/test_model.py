"""All states of the protocol's model, and what becomes of it without each of its rules."""

from dataclasses import fields, replace

import pytest

from tests.interleavings.model import Broken, Model, Rules, explore

OF_CANCELLATIONS = {"spares_the_ended", "ends_what_is_given_back"}
OF_EVENTS = {"looks_into_the_mailbox", "looks_who_waits", "remembers_the_event", "ends_the_wait"}
CANCELLED = Model(cancels=True)
WAITING = Model(cancels=True, events=1, leases=2)


def explore_ever_more(model: Model) -> int:
    """With one lease, then with two, and so on: what breaks with few is found among few states. How many at last."""
    return [explore(replace(model, leases=leases)) for leases in range(1, model.leases + 1)][-1]


@pytest.mark.parametrize("claims", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_state_counts_a_job_twice_and_each_can_end(claims: int) -> None:
    assert explore_ever_more(Model(claims=claims)) > 5_000


@pytest.mark.parametrize("claims", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_cancellation_undoes_an_accepted_outcome(claims: int) -> None:
    assert explore_ever_more(replace(CANCELLED, claims=claims)) > 10_000


@pytest.mark.parametrize("leases", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_an_event_is_received_once_and_wakes_who_waits_for_it(leases: int) -> None:
    assert explore_ever_more(replace(WAITING, leases=leases)) > 10_000


@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_each_rule_is_needed(rule: str) -> None:
    model = CANCELLED if rule in OF_CANCELLATIONS else WAITING if rule in OF_EVENTS else Model()
    with pytest.raises(Broken):
        explore_ever_more(replace(model, rules=replace(Rules(), **{rule: False})))
