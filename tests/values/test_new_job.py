import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock import InvalidInput, NewJob
from penstock.job import new_job_id

TEXTS = ["kind", "queue", "owner", "org", "unique_key", "limit_key", "idempotency_key", "phase"]
WHOLE = ["priority", "max_attempts", "max_snoozes"]


def refused(field: str, value: object, **others: Any) -> str:
    """The refusal's text, after its field was seen to be named."""
    about: dict[str, Any] = {"kind": "work", field: value} | others
    with pytest.raises(InvalidInput) as refusal:
        NewJob(**about)
    assert refusal.value.field == field
    return str(refusal.value)


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("value", ["", "a\0b", "\ud800", 7, UUID(int=7), b"text"], ids=repr)
def test_a_text_that_postgres_cannot_store_is_refused_by_name(field: str, value: object) -> None:
    refused(field, value)


@pytest.mark.parametrize("field", WHOLE)
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 1.5, True, "1", math.nan], ids=repr)
def test_a_number_that_postgres_cannot_store_is_refused_by_name(field: str, value: object) -> None:
    refused(field, value)


def test_a_job_has_at_least_one_attempt_and_no_negative_snoozes() -> None:
    assert "from 1 to" in refused("max_attempts", 0)
    assert "from 0 to" in refused("max_snoozes", -1)


@pytest.mark.parametrize("delay", [-1, -0.001, math.nan, math.inf, 1e10, "5"], ids=repr)
def test_a_delay_is_a_number_of_seconds_that_is_not_negative(delay: object) -> None:
    assert repr(delay) in refused("delay", delay)


def test_run_at_needs_a_time_zone() -> None:
    assert "needs a time zone, e.g. datetime.now(UTC)" in refused("run_at", datetime(2030, 1, 1))
    assert "must be a datetime" in refused("run_at", "tomorrow")


def test_delay_and_run_at_exclude_each_other() -> None:
    assert "not both" in refused("delay", 5, run_at=datetime.now(UTC) + timedelta(hours=1))


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, 1e30])
def test_a_weight_is_positive_and_finite(weight: float) -> None:
    refused("weight", weight)


@pytest.mark.parametrize(
    ("about", "plain"),
    [
        ({}, True),
        ({"delay": 5.0, "owner": "ada", "limit_key": "k", "options": {"timeout": 5}}, True),
        ({"unique_key": "k"}, False),
        ({"idempotency_key": "k"}, False),
        ({"after": (uuid4(),)}, False),
        ({"parent": uuid4()}, False),
        ({"rollup": {}}, False),
    ],
)
def test_only_a_job_that_needs_no_look_at_others_is_plain(about: dict[str, Any], plain: bool) -> None:
    assert NewJob(kind="work", **about).plain is plain


@pytest.mark.parametrize("make", [new_job_id, lambda: NewJob(kind="work").id])
def test_ids_are_uuid7_and_ascend_within_a_process(make: Callable[[], UUID]) -> None:
    ids = [make() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert {id.version for id in ids} == {7}
