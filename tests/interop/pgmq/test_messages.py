"""What pgmq's own regression tests expect of its functions, of ours."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.interop.pgmq.conftest import Sql

HELLO = Jsonb({"hello": "world"})


def test_a_message_is_sent_read_hidden_and_shown_again(sql: Sql, queue: str) -> None:
    sql("select pgmq.create(%s)", queue)  # again: no error
    assert sql("select * from pgmq.send(%s, %s)", queue, HELLO) == [(1,)]
    assert sql("select msg_id, read_ct from pgmq.read(%s, 0, 1)", queue) == [(1, 1)]
    [(number, read_ct, enqueued, vt, message, headers, read_at)] = sql(
        "select * from pgmq.read(%s, 30, 1, %s)", queue, HELLO
    )
    assert (number, read_ct, message, headers) == (1, 2, {"hello": "world"}, None)
    assert enqueued <= read_at < vt
    assert vt - read_at == timedelta(seconds=30)
    assert sql("select vt > clock_timestamp() + interval '50 s' from pgmq.set_vt(%s, 1, 60)", queue) == [(True,)]
    assert sql("select from pgmq.read(%s, 2, 1)", queue) == []
    assert sql("select msg_id from pgmq.set_vt(%s, 1, 0)", queue) == [(1,)]
    assert sql("select msg_id, read_ct from pgmq.read(%s, 2, 1)", queue) == [(1, 3)]
    assert sql("select * from pgmq.set_vt(%s, 9999, 0)", queue) == []


def test_who_polls_waits_until_a_message_is_visible(sql: Sql, queue: str) -> None:
    sql("select pgmq.send(%s, %s, 1)", queue, HELLO)
    assert sql("select from pgmq.read(%s, 2, 1)", queue) == []
    polled = "select msg_id, read_ct from pgmq.read_with_poll(%s, 1, 1, 20, 10)"
    assert sql(polled, queue) == [(1, 1)]
    # its timeout ends by itself, without anybody who leads
    assert sql(polled, queue) == [(1, 2)]
    assert sql("select from pgmq.read_with_poll(%s, 1, 1, 0)", queue) == []
    at = datetime.now(UTC) + timedelta(seconds=0.3)
    assert sql("select * from pgmq.send(%s, %s, %s::timestamptz)", queue, Jsonb({"late": 1}), at) == [(2,)]
    late = "select msg_id, message from pgmq.read_with_poll(%s, 10, 1, 20, 10, %s)"
    assert sql(late, queue, Jsonb({"late": 1})) == [(2, {"late": 1})]


def test_the_first_sent_is_the_first_read_even_when_it_was_read_before(sql: Sql, queue: str) -> None:
    sent = sql("select * from pgmq.send_batch(%s, array['1', '2', '3', '4']::jsonb[])", queue)
    assert sent == [(1,), (2,), (3,), (4,)]
    assert sql("select msg_id from pgmq.read(%s, 0, 2)", queue) == [(1,), (2,)]
    assert sql("select msg_id from pgmq.read(%s, 30, 1)", queue) == [(1,)]
    assert sql("select msg_id from pgmq.read(%s, 30, 2)", queue) == [(2,), (3,)]
    sql("select from pgmq.set_vt(%s, array[3, 1], now())", queue)
    assert sql("select msg_id, message from pgmq.read(%s, 30, 9)", queue) == [(1, 1), (3, 3), (4, 4)]
    assert sql("select msg_id from pgmq.set_vt(%s, array[2, 4, 5], 60)", queue) == [(2,), (4,)]


def test_a_message_whose_delay_is_over_stands_among_the_others_by_its_number(sql: Sql, queue: str) -> None:
    sql("select pgmq.send(%s, '1')", queue)
    sql("select pgmq.send(%s, to_jsonb(n), now() + interval '150 ms') from generate_series(2, 4) as n", queue)
    sql("select pgmq.send_batch(%s, array['5', '6']::jsonb[])", queue)
    sql("select pgmq.send(%s, '7', now() + interval '100 ms')", queue)
    while sql("select queue_visible_length from pgmq.metrics(%s)", queue) != [(7,)]:
        pass
    assert sql("select msg_id from pgmq.read(%s, 0, 1)", queue) == [(1,)]
    assert sql("select msg_id from pgmq.read(%s, 30, 2) order by 1", queue) == [(1,), (2,)]
    assert sql("select msg_id from pgmq.read(%s, 30, 1, '3')", queue) == [(3,)]
    assert sql("select msg_id from pgmq.pop(%s)", queue) == [(4,)]
    assert sql("select msg_id from pgmq.read(%s, 30, 9) order by 1", queue) == [(5,), (6,), (7,)]


SHAPES: list[tuple[str, dict[str, int] | None]] = [
    ("msg => %s", None),
    ("msg => %s, headers => '{\"h\": 1}'::jsonb", {"h": 1}),
    ("msg => %s, delay => 0", None),
    ("msg => %s, delay => now()", None),
    ("msg => %s, headers => '{\"h\": 1}'::jsonb, delay => 0", {"h": 1}),
    ("msg => %s, headers => '{\"h\": 1}'::jsonb, delay => now()", {"h": 1}),
]


def test_send_and_send_batch_take_what_pgmqs_take(sql: Sql, queue: str) -> None:
    values = [{"a": 1}, 7, "text", [1, 2], {"message": 3}, True]
    for (shape, headers), value in zip(SHAPES, values, strict=True):
        [(number,)] = sql(f"select * from pgmq.send(queue_name => %s, {shape})", queue, Jsonb(value))
        several = shape.replace("msg =>", "msgs =>").replace(
            "'{\"h\": 1}'::jsonb", "array['{\"h\": 1}', null]::jsonb[]"
        )
        batch = sql(f"select * from pgmq.send_batch(queue_name => %s, {several})", queue, [Jsonb(value), Jsonb({})])
        assert batch == [(number + 1,), (number + 2,)]
        read = sql("select message, headers from pgmq.read(%s, 60, 3)", queue)
        assert read == [(value, headers), (value, headers), ({}, None)]
    sql("select pgmq.send(%s, null)", queue)
    assert sql("select message is null from pgmq.read(%s, 60, 1)", queue) == [(True,)]


def test_a_batch_that_makes_no_sense_is_refused(sql: Sql, queue: str) -> None:
    with pytest.raises(psycopg.errors.RaiseException, match="msgs cannot be NULL or empty"):
        sql("select pgmq.send_batch(%s, '{}'::jsonb[])", queue)
    with pytest.raises(psycopg.errors.RaiseException, match=r"headers array length \(1\) must match msgs"):
        sql("select pgmq.send_batch(%s, array['1', '2']::jsonb[], array['{}']::jsonb[])", queue)


@pytest.mark.parametrize("headers", [False, True])
def test_what_is_nested_deeper_than_any_worker_reads_is_refused(sql: Sql, queue: str, headers: bool) -> None:
    for levels in (400, 5000):
        deep = f'{{"n": {"[" * levels}{"]" * levels}}}'
        texts = ["{}", deep] if headers else [deep, "{}"]
        if levels == 5000:
            with pytest.raises(psycopg.Error, match="nested more than 500 deep"):
                sql("select pgmq.send(%s, %s::jsonb, %s::jsonb)", queue, *texts)
        else:
            assert sql("select * from pgmq.send(%s, %s::jsonb, %s::jsonb)", queue, *texts) == [(1,)]


def test_what_is_archived_or_deleted_is_gone_from_the_queue(sql: Sql, queue: str) -> None:
    q, a = (f'pgmq."{prefix}_{queue.lower()}"' for prefix in "qa")
    headers = [Jsonb({"h": 1}), None, None, None, None]
    sql("select pgmq.send_batch(%s, array['1', '2', '3', '4', '5']::jsonb[], %s::jsonb[])", queue, headers)
    assert sql("select * from pgmq.archive(%s, array[1, 2, 2, 77, -3])", queue) == [(1,), (2,)]
    assert sql("select pgmq.archive(%s, 3), pgmq.archive(%s, 3)", queue, queue) == [(True, False)]
    assert sql(f"select msg_id, message, headers from {a} order by 1") == [(1, 1, {"h": 1}), (2, 2, None), (3, 3, None)]
    assert sql(f"select count(*) from {a} where archived_at >= enqueued_at and vt <= now()") == [(3,)]
    assert sql("select * from pgmq.delete(%s, array[1, 4])", queue) == [(4,)]
    assert sql("select pgmq.delete(%s, 5), pgmq.delete(%s, 5)", queue, queue) == [(True, False)]
    assert sql(f"select count(*) from {q}") == [(0,)]
    sql("select pgmq.send_batch(%s, array['1', '2']::jsonb[])", queue)
    assert sql(f"select msg_id, read_ct, vt <= now(), message, headers, last_read_at from {q} order by 1") == [
        (6, 0, True, 1, None, None), (7, 0, True, 2, None, None),
    ]  # fmt: skip
    sql("select from pgmq.read(%s, 30, 1)", queue)
    assert sql("select pgmq.purge_queue(%s)", queue) == [(2,)]
    assert sql("select pgmq.purge_queue(%s)", queue) == [(0,)]
    assert sql(f"select count(*) from {q}") == [(0,)]


def test_pop_reads_and_deletes(sql: Sql, queue: str) -> None:
    assert sql("select * from pgmq.pop(%s)", queue) == []
    large = {"text": "x" * 2000}
    sql("select pgmq.send_batch(%s, %s)", queue, [Jsonb(large), Jsonb(2), Jsonb(3)])
    assert sql("select msg_id, read_ct, message from pgmq.pop(%s)", queue) == [(1, 0, large)]
    assert sql("select msg_id, message from pgmq.pop(%s, 5)", queue) == [(2, 2), (3, 3)]
    assert sql(f'select count(*) from pgmq."q_{queue.lower()}"') == [(0,)]


def test_large_messages_are_kept_beside_their_jobs_and_go_with_them(sql: Sql, queue: str) -> None:
    large = [{"text": "x" * 2000, "n": n} for n in range(3)]
    sql("select pgmq.send_batch(%s, %s)", queue, [Jsonb(each) for each in large])
    beside = "select count(*) from penstock.payloads as p join penstock.jobs as j using (id) where j.queue = %s"
    assert sql(beside, queue.lower()) == [(3,)]
    assert [each for (each,) in sql("select message from pgmq.read(%s, 30, 9, '{\"n\": 2}')", queue)] == [large[2]]
    sql("select pgmq.archive(%s, 3)", queue)
    assert sql(f'select message from pgmq."a_{queue.lower()}"') == [(large[2],)]
    [(before,)] = sql("select count(*) from penstock.payloads")
    sql("select pgmq.delete(%s, array[1, 2])", queue)
    assert sql("select count(*) from penstock.payloads") == [(before - 2,)]


def test_metrics_count_what_is_there(sql: Sql, queue: str) -> None:
    empty = sql("select * from pgmq.metrics(%s)", queue)[0]
    assert empty[:5] == (queue, 0, None, None, 0)
    sql("select pgmq.send_batch(%s, array['1', '2', '3', '4', '5']::jsonb[])", queue)
    sql("select pgmq.send_batch(%s, array['6', '7']::jsonb[], 60)", queue)
    sql("select pgmq.archive(%s, 1)", queue)
    [(name, length, newest, oldest, total, scraped, visible)] = sql("select * from pgmq.metrics(%s)", queue)
    assert (name, length, total, visible) == (queue, 6, 7, 4)
    assert 0 <= newest <= oldest < 100
    assert scraped.tzinfo is not None
    assert name in [each for (each,) in sql("select queue_name from pgmq.metrics_all()")]


def test_queues_are_created_listed_and_dropped(sql: Sql) -> None:
    made = {"plain": "create", "non": "create_non_partitioned", "Un-Logged": "create_unlogged"}
    for name, function in made.items():
        sql(f"select pgmq.{function}(%s)", name)
    sql("select pgmq.create_partitioned('parted', '10 seconds', '20 seconds', premake => 2)")
    sql("select pgmq.create_partitioned('parted', '10 seconds', '20 seconds')")
    listed = sql("select queue_name, is_partitioned, is_unlogged from pgmq.list_queues()")
    listed = [each for each in listed if each[0] in (*made, "parted")]
    assert listed == [
        ("plain", False, False), ("non", False, False), ("Un-Logged", False, True), ("parted", True, False),
    ]  # fmt: skip
    assert sql("select pgmq.send('Un-logged', '1'), pgmq.send('parted', '1')") == [(1, 1)]
    sql("select pgmq.archive('parted', 1)")
    sql("select pgmq.detach_archive('parted'), pgmq.convert_archive_partitioned('parted')")
    for name in (*made, "parted"):
        assert sql("select pgmq.drop_queue(%s)", name) == [(True,)]
    assert sql("select pgmq.drop_queue('parted')") == [(False,)]
    assert sql("select to_regclass('pgmq.q_parted'), to_regclass('pgmq.a_parted')") == [(None, None)]
    # one of the same name knows nothing of the first
    sql("select pgmq.create('parted')")
    assert sql("select pgmq.send('parted', '{\"new\": 1}')") == [(1,)]
    assert sql("select count(*) from pgmq.a_parted") == [(0,)]
    assert sql("select pgmq.drop_queue('parted', true)") == [(True,)]


def test_names_that_pgmq_refuses_are_refused(sql: Sql) -> None:
    sql("select pgmq.create(%s), pgmq.drop_queue(%s)", "a" * 47, "a" * 47)
    with pytest.raises(psycopg.errors.RaiseException, match="queue name is too long, maximum length is 48 characters"):
        sql("select pgmq.create(%s)", "a" * 48)
    for name in ("dollar$", "double--hyphen", "semi;colon", "quo'te"):
        for function in ("pgmq.create(%s)", "pgmq.create_partitioned(%s)", "pgmq.send(%s, '1')"):
            with pytest.raises(psycopg.errors.RaiseException, match="queue name contains invalid characters"):
                sql(f"select {function}", name)
    assert sql("select pgmq.format_table_name('Cat-dog', 'q')") == [("q_cat-dog",)]


@pytest.mark.parametrize(
    "call", ["send('none', '1')", "read('none', 1, 1)", "pop('none')", "archive('none', 1)", "delete('none', 1)",
             "set_vt('none', 1, 1)", "metrics('none')", "purge_queue('none')", "enable_notify_insert('none')"]
)  # fmt: skip
def test_a_queue_that_does_not_exist_is_refused_as_a_table_is(sql: Sql, call: str) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable, match=r'relation "pgmq\.q_none" does not exist'):
        sql(f"select pgmq.{call}")


def test_a_transaction_that_is_rolled_back_has_sent_and_read_nothing(sql: Sql, queue: str, pgmq_url: str) -> None:
    with psycopg.connect(pgmq_url) as other:
        other.execute("select pgmq.send(%s, '1')", [queue])
        other.execute("select pgmq.create('rolled_back')")
        assert sql("select from pgmq.read(%s, 0, 1)", queue) == []
        other.rollback()
        assert sql("select to_regclass('pgmq.q_rolled_back')") == [(None,)]
        sql("select pgmq.send(%s, '2')", queue)
        assert other.execute("select msg_id from pgmq.read(%s, 0, 1)", [queue]).fetchall() == [(2,)]
        assert sql("select msg_id from pgmq.read(%s, 0, 1)", queue) == []
        other.rollback()
        assert sql("select msg_id, read_ct from pgmq.read(%s, 0, 1)", queue) == [(2, 1)]


def test_who_listens_is_told_of_what_is_sent(sql: Sql, queue: str, pgmq_url: str) -> None:
    channel = f"pgmq.q_{queue.lower()}.INSERT"
    with psycopg.connect(pgmq_url, autocommit=True) as listening:
        listening.execute(f'listen "{channel}"'.encode())
        sql("select pgmq.send(%s, '1')", queue)
        sql("select pgmq.enable_notify_insert(%s, 0)", queue)
        sql("select pgmq.send_batch(%s, array['2', '3']::jsonb[])", queue)
        [told] = listening.notifies(timeout=20, stop_after=1)
        assert (told.channel, told.payload) == (channel, "")
        sql("select pgmq.update_notify_insert(%s, 3600000)", queue)
        sql("select pgmq.send(%s, '4')", queue)
        sql("select pgmq.send(%s, '5')", queue)
        assert len(list(listening.notifies(timeout=20, stop_after=1))) == 1
        [(name, every, last)] = sql("select * from pgmq.list_notify_insert_throttles() where queue_name = %s", queue)
        assert (name, every) == (queue, 3600000)
        assert last > datetime.now(UTC) - timedelta(hours=1)
        sql("select pgmq.disable_notify_insert(%s)", queue)
        sql("select pgmq.send(%s, '6')", queue)
        sql("select pg_notify(%s, 'the end')", channel)
        assert [each.payload for each in listening.notifies(timeout=20, stop_after=1)] == ["the end"]
    with pytest.raises(psycopg.errors.RaiseException, match="non-negative"):
        sql("select pgmq.enable_notify_insert(%s, -1)", queue)
    with pytest.raises(psycopg.errors.RaiseException, match="does not have notify_insert enabled"):
        sql("select pgmq.update_notify_insert(%s, 1)", queue)


def test_arguments_and_types_are_pgmqs(sql: Sql) -> None:
    fields = """select attname, format_type(atttypid, atttypmod) from pg_attribute
                 where attrelid = %s::regclass and attnum > 0 order by attnum"""
    stamp = "timestamp with time zone"
    assert sql(fields, "pgmq.message_record") == [
        ("msg_id", "bigint"), ("read_ct", "integer"), ("enqueued_at", stamp), ("vt", stamp), ("message", "jsonb"),
        ("headers", "jsonb"), ("last_read_at", stamp),
    ]  # fmt: skip
    assert sql(fields, "pgmq.metrics_result") == [
        ("queue_name", "text"), ("queue_length", "bigint"), ("newest_msg_age_sec", "integer"),
        ("oldest_msg_age_sec", "integer"), ("total_messages", "bigint"), ("scrape_time", stamp),
        ("queue_visible_length", "bigint"),
    ]  # fmt: skip
    assert sql(fields, "pgmq.queue_record") == [
        ("queue_name", "character varying"), ("is_partitioned", "boolean"), ("is_unlogged", "boolean"),
        ("created_at", stamp),
    ]  # fmt: skip
    sql("select pgmq.create('typed')")
    assert [name for name, _ in sql(fields, "pgmq.q_typed")] == [
        "msg_id", "read_ct", "enqueued_at", "vt", "message", "headers", "last_read_at"
    ]  # fmt: skip
    assert [name for name, _ in sql(fields, "pgmq.a_typed")] == [
        "msg_id", "read_ct", "enqueued_at", "archived_at", "vt", "message", "headers", "last_read_at"
    ]  # fmt: skip
    sql("select pgmq.drop_queue('typed')")


def test_a_message_of_an_hour_before_is_found(sql: Sql, queue: str) -> None:
    """Its id begins with another time than those of the newest; one that was sent while the newest hour began, too."""
    q = f'pgmq."q_{queue.lower()}"'
    for hours in (3, 2, 1):
        sql("select pgmq.send_batch(%s, array['1', '2']::jsonb[])", queue)
        sql("""update pgmq.epochs set began_at = now() - %s * interval '1 hour'
                where number = (select number from pgmq.meta where queue_name = %s)
                  and began_at > now() - interval '1 hour' returning 1""", hours, queue)  # fmt: skip
    sql("select pgmq.send(%s, '7')", queue)
    assert sql("select count(*) from pgmq.epochs as e join pgmq.meta using (number) where queue_name = %s", queue) == [
        (4,)
    ]
    assert sql(f"select msg_id from {q} order by 1") == [(n,) for n in range(1, 8)]
    # as if whoever sent 7 had not seen the newest epoch
    [(oldest,)] = sql(
        "select beginning from pgmq.epochs join pgmq.meta using (number) where queue_name = %s"
        " order by first_msg_id limit 1",
        queue,
    )
    moved = (
        """update penstock.jobs set id = pgmq._job_id(%s, 7) where queue = %s and args = '{"message": 7}' returning 1"""
    )
    assert sql(moved, oldest, queue.lower()) == [(1,)]
    assert sql("select msg_id, message from pgmq.set_vt(%s, array[2, 7], 0)", queue) == [(2, 2), (7, 7)]
    assert sorted(sql("select * from pgmq.archive(%s, array[1, 3, 5, 7])", queue)) == [(1,), (3,), (5,), (7,)]
    assert sorted(sql("select * from pgmq.delete(%s, array[2, 4])", queue)) == [(2,), (4,)]
    assert sql("select queue_length, total_messages from pgmq.metrics(%s)", queue) == [(1, 7)]
