"""All states of the protocol's model, and what becomes of it without each of its rules."""

from dataclasses import fields, replace

import pytest

from tests.interleavings.model import Broken, Model, Rules, explore


@pytest.mark.parametrize("claims", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_state_counts_a_job_twice_and_each_can_end(claims: int) -> None:
    assert explore(Model(claims=claims)) > 10_000


@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_each_rule_is_needed(rule: str) -> None:
    with pytest.raises(Broken):
        explore(Model(replace(Rules(), **{rule: False})))
