"""Who may use it: the login that migrated, service_role, and pg_monitor to look; a stranger and a user may not."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.interop.pgmq.conftest import Sql

CALLS = [
    "pgmq.send('{queue}', '1')", "pgmq.read('{queue}', 0, 1)", "pgmq.pop('{queue}')", "pgmq.archive('{queue}', 1)",
    "pgmq.delete('{queue}', 1)", "pgmq.set_vt('{queue}', 1, 0)", "pgmq.purge_queue('{queue}')",
    "pgmq.metrics('{queue}')", "pgmq.create('theirs')", "pgmq.drop_queue('{queue}')", "pgmq.list_queues()",
    "pgmq_public.send('{queue}', '1')", "pgmq_public.read('{queue}', 0, 1)", "pgmq_public.pop('{queue}')",
    "pgmq_public.send_batch('{queue}', array['1']::jsonb[])", "pgmq_public.archive('{queue}', 1)",
    "pgmq_public.delete('{queue}', 1)",
]  # fmt: skip


@pytest.fixture
def stranger(connection: psycopg.Connection[Any]) -> Iterator[str]:
    connection.execute("create role pgmq_stranger nologin")
    yield "pgmq_stranger"
    connection.execute("drop role pgmq_stranger")


def test_strangers_and_users_are_refused(
    connection: psycopg.Connection[Any], sql: Sql, queue: str, stranger: str
) -> None:
    sql("select pgmq.send(%s, '1')", queue)
    name = queue.lower()
    looks = [f'select from pgmq."q_{name}"', f'select from pgmq."a_{name}"', "select from pgmq.meta"]
    for role in (stranger, "anon", "authenticated"):
        for asked in [*(f"select {call.format(queue=queue)}" for call in CALLS), *looks]:
            with connection.transaction(force_rollback=True):
                connection.execute(f"set local role {role}".encode())
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(asked.encode())
    assert sql("select msg_id, read_ct from pgmq.read(%s, 0, 1)", queue) == [(1, 1)]


def test_the_service_may_use_everything_and_monitors_may_look(
    connection: psycopg.Connection[Any], sql: Sql, queue: str
) -> None:
    with connection.transaction(force_rollback=True):
        sql("select set_config('role', 'service_role', true)")
        sql("select pgmq.create('of the service')")
        for name in (queue, "of the service"):
            assert sql(
                "select * from pgmq_public.send(queue_name => %s, message => '1', sleep_seconds => 0)", name
            ) == [(1,)]
            batch = "select * from pgmq_public.send_batch(queue_name => %s, messages => array['2', '3']::jsonb[])"
            assert sql(batch, name) == [(2,), (3,)]
            read = "select msg_id, message from pgmq_public.read(queue_name => %s, sleep_seconds => 30, n => 1)"
            assert sql(read, name) == [(1, 1)]
            assert sql("select pgmq_public.archive(queue_name => %s, message_id => 1)", name) == [(True,)]
            assert sql("select msg_id from pgmq_public.pop(queue_name => %s)", name) == [(2,)]
            assert sql("select pgmq_public.delete(queue_name => %s, message_id => 3)", name) == [(True,)]
            assert sql(f'select msg_id from pgmq."a_{name.lower()}"') == [(1,)]
            assert sql("select total_messages from pgmq.metrics(%s)", name) == [(3,)]
        assert sql("select pgmq.drop_queue('of the service')") == [(True,)]
    large = {"text": "x" * 2000}
    sql("select pgmq.send_batch(%s, %s)", queue, [Jsonb(large), Jsonb(2)])
    with connection.transaction(force_rollback=True):
        sql("select set_config('role', 'pg_monitor', true)")
        assert sql(f'select message from pgmq."q_{queue.lower()}" order by msg_id') == [(large,), (2,)]
        assert (queue,) in sql("select queue_name from pgmq.meta")


def test_no_function_takes_another_schemas_for_postgress_own(sql: Sql) -> None:
    """Parsed when they were made, or with a search_path of their own."""
    open_ones = sql(
        """select oid::regprocedure::text from pg_proc
            where pronamespace in ('pgmq'::regnamespace, 'pgmq_public'::regnamespace) and prosqlbody is null
              and not coalesce(proconfig @> '{"search_path=pg_catalog, pg_temp"}', false)"""
    )
    assert open_ones == []
