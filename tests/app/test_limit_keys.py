"""A limit key that follows from a job's arguments, whichever way the job is enqueued."""

from collections.abc import Mapping
from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Flow, Handler, InvalidInput, Penstock
from penstock.dedupe import fill_key


class Customer(msgspec.Struct):
    id: int
    name: str = "x"


@pytest.fixture
def send(app: Penstock) -> Handler[..., None]:
    @app.job(limit_key="{customer}", users=True)
    def send(customer: str | None = None, subject: str = "") -> None: ...

    return send


def keys(app: Penstock) -> list[str | None]:
    return [job.limit_key for job in app.jobs.each(kind="send")]


def test_every_way_in_makes_the_key(app: Penstock, send: Handler[..., None]) -> None:
    send.enqueue("acme")
    send.enqueue_many([{"customer": "acme"}] * 30)
    app.enqueue(send.prepare("acme"))
    app.enqueue_many([send.prepare("acme") for _ in range(30)])
    app.enqueue(app.prepare("send", {"customer": "acme"}, priority=3))
    flow = Flow()
    flow.add(send.prepare("acme"))
    app.enqueue(flow)
    app.schedules.set("nightly", "0 0 * * *", "send", {"customer": "acme"})
    app.schedules.run_now("nightly")
    found = keys(app)
    assert len(found) == 1 + 30 + 1 + 30 + 1 + 1 + 1
    assert set(found) == {"acme"}


@pytest.mark.needs_session("sets its session up: a pooler takes no options, and forgets what is set")
async def test_a_user_s_start_makes_it_too(app: Penstock, send: Handler[..., None], url: str) -> None:
    await app.declare()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("select set_config('request.jwt.claims', '{\"sub\": \"ada\"}', false)")
        await connection.execute("""select penstock.start('send', '{"customer": "acme"}'), penstock.start('send')""")
    assert [job.limit_key async for job in app.jobs.aeach(kind="send")] == [None, "acme"]
    await app.aclose()


def test_a_part_of_an_argument_may_be_named(app: Penstock) -> None:
    @app.job(kind="send", limit_key="customer-{customer.id}/{urgent}")
    def bill(customer: Customer, urgent: bool) -> None: ...

    bill.enqueue(Customer(7), urgent=True)
    assert keys(app) == ["customer-7/true"]


def test_without_the_argument_there_is_no_key(app: Penstock, send: Handler[..., None]) -> None:
    send.enqueue()
    send.enqueue(None)
    assert keys(app) == [None, None]


def test_one_call_may_have_another_key(app: Penstock, send: Handler[..., None]) -> None:
    send.using(limit_key="{subject}!").enqueue("acme", "hi")
    send.using(limit_key="plain").enqueue("acme")
    assert keys(app) == ["plain", "hi!"]


def test_an_argument_that_there_is_not_is_refused_where_it_is_written(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match="limit_key: there is no argument 'custmer'; there is customer"):

        @app.job(limit_key="{custmer}")
        def send(customer: str) -> None: ...


def test_what_is_no_text_or_number_makes_no_key(app: Penstock) -> None:
    @app.job(kind="send", limit_key="{customer}")
    def bill(customer: Customer) -> None: ...

    with pytest.raises(InvalidInput, match="limit_key: customer is no text or number"):
        bill.enqueue(Customer(7))


@given(
    st.text("ab{}.", max_size=12),
    st.dictionaries(
        st.sampled_from("ab"), st.text("ab{}\\", max_size=5) | st.integers(-9, 9) | st.booleans() | st.none()
    ),
)
def test_sql_and_python_make_the_same_key(
    connection: psycopg.Connection[Any], template: str, args: Mapping[str, Any]
) -> None:
    row = connection.execute(
        "select penstock.fill_key(%s, %s::text::jsonb)", [template, msgspec.json.encode(args).decode()]
    ).fetchone()
    assert row == (fill_key(template, args),)


@pytest.fixture(scope="module")
def connection(databases: Any) -> Any:
    made = databases.take()
    with psycopg.connect(made[0], autocommit=True) as connection:
        yield connection
    databases.give_back(made)
