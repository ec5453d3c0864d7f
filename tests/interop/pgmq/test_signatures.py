"""Our functions beside the real pgmq's, whose SQL its Python client brings with it: names and types of arguments, their
defaults, and results. A call by names fits both."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pgmq import get_embedded_install_sql

from penstock.testing.database import throw_away
from tests.interop.pgmq.conftest import Sql

FUNCTIONS = """select proname, pg_get_function_arguments(oid), pg_get_function_result(oid)
                 from pg_proc where pronamespace = 'pgmq'::regnamespace and proname not like '\\_%'"""
FIELDS = """select c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
              from pg_attribute as a join pg_class as c on c.oid = a.attrelid
             where c.relnamespace = 'pgmq'::regnamespace and c.relkind = 'c' and a.attnum > 0"""
TYPES = ("message_record", "metrics_result", "queue_record")

OTHERS = re.compile(r"topic|routing|grouped|fifo|^acquire_queue_lock$|^notify_queue_listeners$")
"""Of theirs, what is not here: messages by topics and in groups, and what their tables need."""


@pytest.fixture(scope="module")
def theirs(server: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    with throw_away(server, template) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(get_embedded_install_sql().encode())
        yield connection


def test_every_function_is_called_as_the_real_one(sql: Sql, theirs: psycopg.Connection[Any]) -> None:
    ours, real = set(sql(FUNCTIONS)), set(theirs.execute(FUNCTIONS.encode()).fetchall())
    assert ours - real == set()
    assert {name for name, *_ in real - ours if not OTHERS.search(name)} == set()
    assert len(ours) > 40


def test_every_type_has_the_fields_of_the_real_one(sql: Sql, theirs: psycopg.Connection[Any]) -> None:
    """In an order of its own: last_read_at comes last, where clients of earlier versions do not miss it. There are no
    partitions."""
    ours, real = ({row for row in found if row[0] in TYPES} for found in (sql(FIELDS), theirs.execute(FIELDS.encode())))
    assert real - ours == {("metrics_result", "default_partition_length", "bigint")}
    assert ours - real == set()


def test_a_call_of_an_earlier_version_means_one_function_here(sql: Sql, queue: str) -> None:
    """pgmq 1.5.1, which Supabase ships, has one set_vt(): a number is for no other, nor is what says its type."""
    sql("select pgmq.send(%s, '1')", queue)
    assert sql("select msg_id from pgmq.set_vt(%s, 1, 0)", queue) == [(1,)]
    assert sql("select msg_id from pgmq.set_vt(queue_name => %s, msg_id => 1, vt => 0)", queue) == [(1,)]
    assert sql("select msg_id from pgmq.set_vt(%s, %s::bigint, %s::integer)", queue, "1", "0") == [(1,)]
    with pytest.raises(psycopg.errors.AmbiguousFunction):
        sql("select msg_id from pgmq.set_vt(%s, '1', '0')", queue)
