"""pgmq's own Python clients, from PyPI, do to ours what their tests do to the real one."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pgmq
import psycopg
import pytest
import tembo_pgmq_python
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool
from tembo_pgmq_python.async_queue import PGMQueue as TemboAsyncQueue

HELLO = {"hello": "world"}


class TemboQueue(tembo_pgmq_python.PGMQueue):  # type: ignore[misc]
    """Its one difference: there is no extension to create."""

    def _initialize_extensions(self, conn: object = None) -> None: ...


@pytest.fixture
def place(pgmq_url: str) -> dict[str, Any]:
    found = conninfo_to_dict(pgmq_url)
    return {
        "host": found["host"], "port": found["port"], "database": found["dbname"], "username": found["user"],
        "password": found["password"],
    }  # fmt: skip


@pytest.fixture
def tembo(place: dict[str, Any]) -> Iterator[TemboQueue]:
    client = TemboQueue(**place, kwargs={"min_size": 1})
    yield client
    client.pool.close()


@pytest.fixture
def client(pgmq_url: str) -> Iterator[Any]:
    with ConnectionPool(pgmq_url, min_size=1) as pool:
        yield pgmq.PGMQueue(pool=pool, init_extension=False)


@pytest.fixture
async def async_pool(place: dict[str, Any]) -> AsyncIterator[Any]:
    known = {**place, "user": place["username"]}
    del known["username"]
    async with asyncpg.create_pool(**known, min_size=1) as pool:
        yield pool


def test_the_client_of_tembo(tembo: TemboQueue, queue: str) -> None:
    queue = f"tembo-{queue}"
    tembo.create_queue(queue)
    tembo.create_queue(f"{queue}-u", unlogged=True)
    assert {queue, f"{queue}-u"} <= set(tembo.list_queues())
    first = tembo.send(queue, HELLO)
    message = tembo.read(queue, vt=20)
    assert (message.msg_id, message.message, message.read_ct) == (first, HELLO, 1)
    assert tembo.read(queue, vt=20) is None
    assert tembo.set_vt(queue, first, vt=0).msg_id == first
    [polled] = tembo.read_with_poll(queue, vt=20, qty=1, max_poll_seconds=5, poll_interval_ms=10)
    assert polled.read_ct == 2
    assert 0 < (polled.vt - datetime.now(UTC)).total_seconds() <= 20
    assert tembo.archive(queue, first) is True
    second, third = tembo.send_batch(queue, [HELLO, HELLO])
    assert [each.msg_id for each in tembo.read_batch(queue, vt=20, batch_size=5)] == [second, third]
    assert tembo.delete(queue, second) is True
    assert tembo.archive_batch(queue, [second, third]) == [third]
    late = tembo.send(queue, HELLO, delay=60)
    later = tembo.send(queue, HELLO, tz=datetime.now(UTC) + timedelta(minutes=1))
    soon = tembo.send(queue, HELLO)
    assert tembo.pop(queue).msg_id == soon
    assert tembo.delete_batch(queue, [late]) == [late]
    metrics = tembo.metrics(queue)
    assert (metrics.queue_name, metrics.queue_length, metrics.total_messages) == (queue, 1, soon)
    assert queue in [each.queue_name for each in tembo.metrics_all()]
    assert tembo.purge(queue) == 1
    assert later < soon
    tembo.detach_archive(queue)
    tembo.validate_queue_name("a" * 47)
    with pytest.raises(psycopg.Error, match="queue name is too long"):
        tembo.validate_queue_name("a" * 49)
    with tembo.pool.connection() as conn, conn.transaction(force_rollback=True):
        tembo.send(queue, HELLO, conn=conn)
        tembo.create_queue(f"{queue}-never", conn=conn)
    assert tembo.read(queue) is None
    assert f"{queue}-never" not in tembo.list_queues()
    assert tembo.drop_queue(queue) is True
    assert tembo.drop_queue(f"{queue}-u") is True


async def test_the_async_client_of_tembo(place: dict[str, Any], async_pool: Any, queue: str) -> None:
    tembo = TemboAsyncQueue(**place)
    tembo.pool = async_pool  # instead of init(), which creates the extension
    first = await tembo.send(queue, HELLO)
    message = await tembo.read(queue, vt=20)
    assert (message.msg_id, message.message) == (first, HELLO)
    assert await tembo.archive(queue, first)
    ids = await tembo.send_batch(queue, [HELLO, HELLO, HELLO])
    assert [each.msg_id for each in await tembo.read_batch(queue, vt=20, batch_size=2)] == ids[:2]
    assert (await tembo.pop(queue)).msg_id == ids[2]
    assert await tembo.delete_batch(queue, [ids[1]]) == [ids[1]]
    assert await tembo.archive_batch(queue, [ids[0]]) == [ids[0]]
    assert (await tembo.metrics(queue)).queue_length == 0
    assert queue in await tembo.list_queues()
    await tembo.send(queue, HELLO, delay=60)
    assert await tembo.read(queue) is None
    sent = await tembo.send(queue, HELLO)
    assert (await tembo.read_with_poll(queue, vt=20, qty=1))[0].msg_id == sent
    assert await tembo.purge(queue) == 2
    # later versions of pgmq have four set_vt(), and this client does not say which of them it means
    with pytest.raises(asyncpg.AmbiguousFunctionError):
        await tembo.set_vt(queue, sent, 0)
    assert await async_pool.fetch("select pgmq.set_vt($1, $2::bigint, $3::integer)", queue, sent, 0) == []


def test_the_client_of_pgmq(client: Any, queue: str) -> None:
    headers = {"trace": "abc"}
    assert client.validate_queue_name(queue) is True
    first = client.send(queue, HELLO, headers=headers)
    message = client.read(queue, vt=20)
    assert (message.msg_id, message.message, message.headers, message.read_ct) == (first, HELLO, headers, 1)
    assert message.enqueued_at <= message.last_read_at < message.vt
    assert client.set_vt(queue, first, 0).msg_id == first
    assert client.read(queue, vt=20, conditional={"hello": "nobody"}) is None
    assert client.read(queue, vt=20, conditional=HELLO).read_ct == 2
    at = datetime.now(UTC) + timedelta(minutes=5)
    assert client.set_vt(queue, first, at).vt == at
    assert client.archive(queue, first) is True
    ids = client.send_batch(queue, [HELLO] * 4, headers=[headers] * 4)
    assert [each.msg_id for each in client.read_batch(queue, vt=20, batch_size=2)] == ids[:2]
    assert [each.msg_id for each in client.set_vt(queue, ids[:2], 0)] == ids[:2]
    polled = client.read_with_poll(queue, vt=20, qty=9, max_poll_seconds=5, poll_interval_ms=10)
    assert [each.msg_id for each in polled] == ids
    assert client.delete_batch(queue, ids[:1]) == ids[:1]
    assert client.archive_batch(queue, ids[1:2]) == ids[1:2]
    assert client.delete(queue, ids[2]) is True
    client.set_vt(queue, ids[3], 0)
    assert client.pop(queue).msg_id == ids[3]
    client.send(queue, HELLO, delay=60)
    metrics = client.metrics(queue)
    assert (metrics.queue_length, metrics.queue_visible_length, metrics.total_messages) == (1, 0, 6)
    assert queue in [each.queue_name for each in client.metrics_all()]
    with pytest.warns(UserWarning, match="now returns"):
        assert queue in [each.queue_name for each in client.list_queues()]
    client.enable_notify(queue, throttle_interval_ms=100)
    client.update_notify(queue, 200)
    assert 200 in [each.throttle_interval_ms for each in client.list_notify_throttles()]
    client.disable_notify(queue)
    assert client.purge(queue) == 1
    for made in ("create_queue", "create_partitioned_queue"):
        getattr(client, made)("made-by-pgmq")
        assert client.drop_queue("made-by-pgmq") is True


async def test_the_async_client_of_pgmq(async_pool: Any, queue: str) -> None:
    client: Any = pgmq.AsyncPGMQueue(pool=async_pool, init_extension=False)
    await client.init()
    first = await client.send(queue, HELLO, headers={"trace": "abc"})
    message = await client.read(queue, vt=20)
    assert (message.msg_id, message.message, message.headers) == (first, HELLO, {"trace": "abc"})
    assert await client.archive(queue, first) is True
    ids = await client.send_batch(queue, [HELLO] * 3)
    assert [each.msg_id for each in await client.read_batch(queue, vt=20, batch_size=9)] == ids
    await client.set_vt(queue, ids, 0)
    polled = await client.read_with_poll(queue, vt=20, qty=1, max_poll_seconds=5, poll_interval_ms=10)
    assert [each.msg_id for each in polled] == ids[:1]
    assert await client.delete(queue, ids[0]) is True
    assert (await client.pop(queue)).msg_id == ids[1]
    assert (await client.set_vt(queue, ids[2], 60)).read_ct == 1
    assert await client.delete_batch(queue, [ids[1]]) == []
    assert (await client.metrics(queue)).queue_length == 1
    assert await client.purge(queue) == 1
