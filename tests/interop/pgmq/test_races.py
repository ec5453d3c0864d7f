"""Deleting messages while somebody else has them in hand."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.interop.pgmq.conftest import Rows, Sql
from tests.kit.until import wait_until

LARGE = {"text": "x" * 2000}


@contextmanager
def waiting_for(other: psycopg.Connection[Any], url: str, text: str, *values: object) -> Iterator[Future[Rows]]:
    """What `other` does inside is not committed yet when somebody else runs the statement."""
    result: Future[Rows] = Future()
    with ThreadPoolExecutor(1) as thread, psycopg.connect(url, autocommit=True) as late:
        with other.transaction():
            yield result
            running = thread.submit(lambda: late.execute(text.encode(), values).fetchall())
            blocking = "select pg_blocking_pids(%s)"
            me = other.info.backend_pid
            wait_until(lambda: other.execute(blocking, [late.info.backend_pid]).fetchone() == ([me],))
        result.set_result(running.result(timeout=30))


@pytest.mark.parametrize(
    ("late", "nothing"),
    [("select * from pgmq.delete(%s, array[1])", []), ("select pgmq.purge_queue(%s)", [(0,)])],
)
def test_a_message_that_was_archived_first_keeps_its_text(
    connection: psycopg.Connection[Any], sql: Sql, queue: str, pgmq_url: str, late: str, nothing: Rows
) -> None:
    sql("select pgmq.send(%s, %s)", queue, Jsonb(LARGE))
    with waiting_for(connection, pgmq_url, late, queue) as deleted:
        assert sql("select pgmq.archive(%s, 1)", queue) == [(True,)]
    assert deleted.result() == nothing
    assert sql(f'select msg_id, message from pgmq."a_{queue.lower()}"') == [(1, LARGE)]


def test_a_message_that_somebody_has_begun_to_wait_for_is_cancelled_with_who_waits(
    connection: psycopg.Connection[Any], sql: Sql, queue: str, pgmq_url: str
) -> None:
    sql("select pgmq.send(%s, %s)", queue, Jsonb(LARGE))
    [(id,)] = sql("select id from penstock.jobs where queue = lower(%s)", queue)
    with waiting_for(connection, pgmq_url, "select * from pgmq.delete(%s, array[1])", queue) as deleted:
        [(waiter,)] = sql("select penstock.enqueue('waits', '{}', after => array[%s::uuid])", id)
    assert deleted.result() == [(1,)]
    states = "select state::text from penstock.all_jobs where id = any(array[%s, %s]::uuid[])"
    assert sql(states, id, waiter) == [("cancelled",), ("cancelled",)]
