"""A job enqueued on the caller's own sync connection exists if and only if the caller's transaction commits."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import psycopg2
import psycopg2.extras
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from penstock import Handler, Penstock
from penstock.engine.postgres.drivers import runner_for
from tests.app.addresses import as_uri
from tests.kit.fixtures import Connect

Send = Handler[..., None]


@dataclass
class Caller:
    """Somebody's connection, and how they use it."""

    connection: Any
    execute: Callable[[str], object]

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()


@contextmanager
def by_psycopg(url: str, **about: Any) -> Iterator[Caller]:
    with psycopg.connect(url, **about) as connection:
        yield Caller(connection, lambda text: connection.execute(text.encode()))


@contextmanager
def by_psycopg2(url: str, **about: Any) -> Iterator[Caller]:
    connection = psycopg2.connect(url, **about)

    def execute(text: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(text)

    try:
        yield Caller(connection, execute)
    finally:
        connection.close()


@contextmanager
def by_sqlalchemy(url: str, driver: str, kind: str) -> Iterator[Caller]:
    engine = sa.create_engine(as_uri(url, driver), poolclass=sa.NullPool)
    kinds: dict[str, Callable[[], Any]] = {
        "connection": engine.connect,
        "session": lambda: Session(engine),
        "scoped session": lambda: scoped_session(sessionmaker(engine)),
    }
    made = kinds[kind]()
    yield Caller(made, lambda text: made.execute(sa.text(text)))
    made.close()
    engine.dispose()


CALLERS: dict[str, Callable[[str], AbstractContextManager[Caller]]] = {
    "psycopg": by_psycopg,
    "psycopg with dict_row": lambda url: by_psycopg(url, row_factory=dict_row),
    "psycopg with raw cursors": lambda url: by_psycopg(url, cursor_factory=psycopg.RawCursor),
    "psycopg2": by_psycopg2,
    "psycopg2 with dicts": lambda url: by_psycopg2(url, cursor_factory=psycopg2.extras.RealDictCursor),
    "SQLAlchemy connection on psycopg": lambda url: by_sqlalchemy(url, "psycopg", "connection"),
    "SQLAlchemy connection on psycopg2": lambda url: by_sqlalchemy(url, "psycopg2", "connection"),
    "SQLAlchemy session on psycopg": lambda url: by_sqlalchemy(url, "psycopg", "session"),
    "SQLAlchemy session on psycopg2": lambda url: by_sqlalchemy(url, "psycopg2", "session"),
    "SQLAlchemy scoped session": lambda url: by_sqlalchemy(url, "psycopg", "scoped session"),
}
every_caller = pytest.mark.parametrize("caller", CALLERS)


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    def send(to: str) -> None: ...

    return send


@pytest.fixture
def seen(connect: Connect) -> Callable[[], tuple[int, int]]:
    """How many of the caller's own rows, and how many jobs, somebody else sees."""
    connection = connect()
    connection.execute("drop table if exists own; create table own (id int)")
    query = "select (select count(*) from own), (select count(*) from penstock.jobs)"
    return lambda: connection.execute(query.encode()).fetchall()[0]


@every_caller
def test_jobs_commit_with_the_callers_own_data(
    url: str, send: Send, seen: Callable[[], tuple[int, int]], caller: str
) -> None:
    with CALLERS[caller](url) as own:
        own.execute("insert into own values (1)")
        one = send.using(connection=own.connection).enqueue("ada")
        some = send.using(connection=own.connection, unique=True).enqueue_many([{"to": "a"}, {"to": "b"}])
        many = send.using(connection=own.connection).enqueue_many([{"to": str(n)} for n in range(25)])
        assert seen() == (0, 0)
        own.commit()
    assert seen() == (1, 28)
    assert [handle.refresh().args["to"] for handle in (one, *some, many[-1])] == ["ada", "a", "b", "24"]


@every_caller
def test_jobs_roll_back_with_the_callers_own_data(
    url: str, send: Send, seen: Callable[[], tuple[int, int]], caller: str
) -> None:
    with CALLERS[caller](url) as own:
        own.execute("insert into own values (1)")
        send.using(connection=own.connection).enqueue("ada")
        send.using(connection=own.connection).enqueue_many([{"to": "ada"}] * 25)
        own.rollback()
        assert seen() == (0, 0)
        send.using(connection=own.connection).enqueue("ada")
        own.commit()
    assert seen() == (0, 1)


@every_caller
@pytest.mark.parametrize("jobs", [1, 25])
def test_enqueueing_may_be_the_first_thing_in_a_transaction(
    url: str, send: Send, seen: Callable[[], tuple[int, int]], caller: str, jobs: int
) -> None:
    with CALLERS[caller](url) as own:
        send.using(connection=own.connection).enqueue_many([{"to": "ada"}] * jobs)
        own.execute("insert into own values (1)")
        own.commit()
        assert seen() == (1, jobs)
        send.using(connection=own.connection).enqueue_many([{"to": "ada"}] * jobs)
        own.rollback()
    assert seen() == (1, jobs)


@every_caller
def test_what_is_under_psycopg_copies_and_the_others_do_without(url: str, caller: str) -> None:
    with CALLERS[caller](url) as own:
        assert runner_for(own.connection, "penstock").can_copy is ("psycopg2" not in caller)


@pytest.mark.parametrize("caller", ["psycopg", "psycopg2"])
def test_ten_thousand_jobs_go_into_the_callers_transaction(
    url: str, send: Send, seen: Callable[[], tuple[int, int]], caller: str
) -> None:
    with CALLERS[caller](url) as own:
        handles = send.using(connection=own.connection).enqueue_many([{"to": str(n)} for n in range(10_000)])
        assert (len(handles), seen()) == (10_000, (0, 0))
        own.commit()
    assert seen() == (0, 10_000)
    assert handles[9_999].refresh().args == {"to": "9999"}


def test_blocks_and_savepoints_of_the_caller_hold(url: str, send: Send, seen: Callable[[], tuple[int, int]]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        on_it = send.using(connection=connection)
        with connection.transaction():
            on_it.enqueue("stays")
            with connection.transaction(force_rollback=True):
                on_it.enqueue("goes")
            assert seen() == (0, 0)
        assert seen() == (0, 1)
        on_it.enqueue("by itself")
        assert seen() == (0, 2)


@pytest.mark.parametrize("caller", ["psycopg", "psycopg2"])
def test_a_failing_bulk_writes_nothing_even_if_the_caller_commits_every_statement(
    url: str, app: Penstock, send: Send, seen: Callable[[], tuple[int, int]], caller: str
) -> None:
    first = app.enqueue(send.prepare("taken"))
    jobs = [send.prepare(str(n)) for n in range(2_000)]
    # the last group of the COPY, or the last row of the JSON, has an id that exists
    last = [app.prepare("send", {"to": "x"}, queue="other"), send.using(queue="other").prepare("y")]
    object.__setattr__(last[1], "id", first.id)
    with CALLERS[caller](url) as own:
        own.connection.autocommit = True
        with pytest.raises(ValueError, match=r"^id: a job with this id exists"):
            app.enqueue_many([*jobs, *last], connection=own.connection)
        assert seen() == (0, 1)


def test_plain_sql_commits_and_rolls_back_with_the_caller(url: str, seen: Callable[[], tuple[int, int]]) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("insert into own values (1)")
        connection.execute("""select penstock.enqueue('send', '{"to": "ada"}')""")
        connection.rollback()
        assert seen() == (0, 0)
        connection.execute("insert into own values (1)")
        connection.execute("""select penstock.enqueue('send', '{"to": "ada"}')""")
        connection.commit()
        assert seen() == (1, 1)
