"""Jobs that somebody else wrote into Redis, in any shape: they are taken and fail by themselves, beside those that are
well. Who may write there is not ours to say; one that cannot be read must not keep a worker from all the others."""

import json
from datetime import datetime

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from redis import Redis

from penstock import Penstock
from penstock.engine.bullmq.hands import held_job
from penstock.engine.bullmq.outcomes import _pause
from penstock.engine.bullmq.record import CANCEL, ERRORS, PARKED, PARKED_AT, SNOOZES, Record
from tests import slow
from tests.kit.redis import fresh_redis
from tests.kit.until import until
from tests.kit.working import working
from tests.values.json_values import json_values

pytestmark = [pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []

NAMES = [
    "name", "opts", "data", "parent", "progress", "returnvalue", "failedReason", "timestamp", "processedOn",
    "finishedOn", "delay", "priority", "atm", "attemptsMade", "ats", "stc", SNOOZES, ERRORS, CANCEL, PARKED, PARKED_AT,
]  # fmt: skip
opts = some.dictionaries(
    some.sampled_from(["penstock", "attempts", "removeOnComplete", "removeOnFail", "backoff"]),
    json_values
    | some.dictionaries(
        some.sampled_from(["options", "owner", "count", "age", "backoff", "delay", "type"]), json_values
    ),
)
values = (
    some.text(max_size=20)
    | some.sampled_from(
        ["", "-1", "1e999", "nan", "9" * 400, "{", '{"id":1}', '{"queueKey":[]}', "[" * 5000, '"\\ud800"']
    )
    | (json_values | opts).map(json.dumps)
)


@settings(max_examples=500 if slow.asked_for else 30)
@given(some.dictionaries(some.sampled_from(NAMES), values))
@example({"opts": '{"attempts": "many"}'})
@example({"opts": '{"penstock": "yes"}'})
@example({"opts": '{"penstock": {"flow": "none"}}'})
@example({"timestamp": "1e300"})
@example({"parent": "{}"})
@example({"priority": "high", "atm": "x", "ats": "[]", "stc": "1.5"})
def test_a_job_of_any_shape_is_read(fields: dict[str, str]) -> None:
    record = Record("mail", "7", fields)
    claimed = record.claimed()
    assert isinstance(claimed.created_at, datetime)
    assert claimed.max_attempts >= 1
    assert claimed.attempt >= 1
    assert msgspec.json.decode(claimed.options or "{}") is not None
    msgspec.json.encode(held_job(record, "a token").keep)
    assert 0 <= _pause(record, 3000, None) <= 366 * 86_400
    msgspec.json.encode(claimed)
    for place in ("waiting", "active", "failed", "delayed"):
        msgspec.json.encode(record.job(place))


async def test_jobs_that_nobody_can_read_do_not_keep_a_worker_from_the_others() -> None:
    async with Penstock(fresh_redis()) as app:

        @app.job(max_attempts=1)
        async def greet(name: str = "", data: object = None) -> str:
            return f"hello {name[0]}{name[1:]}"

        address, _, prefix = app.engine.url.partition("?prefix=")  # type: ignore[attr-defined]
        with Redis.from_url(address) as redis:
            for number, fields in enumerate(UNREADABLE):
                redis.hset(
                    f"{prefix}:default:{number}", mapping={"name": "greet", "data": "{}", "timestamp": 1} | fields
                )
                redis.lpush(f"{prefix}:default:wait", number)
            job = await greet.aenqueue("Ada")
            async with working(app):
                assert await job.aresult(timeout=30) == "hello Ada"
                ended = [f"{prefix}:default:{place}" for place in ("completed", "failed")]
                await until(lambda: sum(redis.zcard(key) for key in ended) == len(UNREADABLE) + 1)


# what BullMQ's own scripts cannot read, such as its counters, stops its workers as well
UNREADABLE: list[dict[str, str]] = [
    {"data": "{"},
    {"data": "no JSON"},
    {"data": "[" * 5000},
    {"opts": '{"attempts": "many"}'},
    {"opts": '{"attempts": 2, "backoff": {"type": "exponential", "delay": "x"}}', "data": '{"name": ""}'},
    {"opts": '{"penstock": "yes"}'},
    {"opts": '{"penstock": {"options": "x", "rollup": [1]}, "attempts": 1}'},
    {"opts": '{"removeOnComplete": "all", "removeOnFail": {"count": "x"}}'},
    {"opts": "[]", "timestamp": "1e300", "priority": "high"},
]
