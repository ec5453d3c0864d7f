"""What a call reads does not depend on how much there is. Counted in blocks, which no busy machine can change."""

from typing import Any

import psycopg

from tests.interop.pgmq.conftest import Sql

CALLS = {
    "read": "select * from pgmq.read(%s, 600, 10)",
    "archive": "select * from pgmq.archive(%s, array(select generate_series(1, 10)))",
    "set_vt": "select * from pgmq.set_vt(%s, array(select generate_series(11, 20)), 600)",
    "delete": "select * from pgmq.delete(%s, array(select generate_series(11, 20)))",
    "send": "select * from pgmq.send_batch(%s, array(select to_jsonb(n) from generate_series(1, 10) as n))",
}


def blocks(connection: psycopg.Connection[Any], queue: str, call: str) -> int:
    """Of a call whose plans are made, and which leaves everything as it was."""
    found: list[int] = []
    for _ in range(3):
        with connection.transaction(force_rollback=True):
            row = connection.execute(
                f"explain (analyze, buffers, format json) {CALLS[call]}".encode(), [queue]
            ).fetchone()
            assert row is not None
            plan = row[0][0]["Plan"]
            found.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    return found[-1]


def test_a_call_costs_the_same_among_many_messages(connection: psycopg.Connection[Any], sql: Sql, queue: str) -> None:
    send = "select count(*) from pgmq.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) as n), %s)"
    sql(send, queue, 100, 0)
    few = {call: blocks(connection, queue, call) for call in CALLS}
    with connection.transaction(force_rollback=True):
        sql(send, queue, 10_000, 0)
        sql(send, queue, 10_000, 3600)
        for call in CALLS:
            many = blocks(connection, queue, call)
            figures = f"{call} read {few[call]} blocks among 100 messages, and {many} among 20,000"
            assert many <= 1.5 * few[call] + 60, figures


def test_a_read_costs_the_same_among_many_whose_delay_is_over(
    connection: psycopg.Connection[Any], sql: Sql, queue: str
) -> None:
    send = "select count(*) from pgmq.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) as n), %s)"
    due = "update penstock.jobs set run_at = now() where queue = lower(%s) and state = 'scheduled' returning 1"
    for delayed_first in (False, True):
        found: list[int] = []
        for many in (300, 5_000):
            with connection.transaction(force_rollback=True):
                for delay in (3600, 0) if delayed_first else (0, 3600):
                    sql(send, queue, many, delay)
                assert len(sql(due, queue)) == many
                found.append(blocks(connection, queue, "read"))
        few, more = found
        assert more <= 1.5 * few + 60, f"read {few} blocks among 300 that are due, and {more} among 5,000"
