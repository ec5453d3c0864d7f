"""SQLAlchemy's ORM in a handler: its writes and the job's completion are one commit."""

from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from penstock import Context, Handler, JobState, Penstock, SyncContext
from penstock.interop.sqlalchemy import session_of
from tests.kit.fixtures import Connect

SOON = 20.0


class Base(DeclarativeBase): ...


class Invoice(Base):
    __tablename__ = "invoices"
    number: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]


@pytest.fixture
def invoices(connect: Connect) -> Any:
    connection = connect()
    connection.execute("create table if not exists invoices (number int primary key, customer text)")
    return lambda: connection.execute("select number, customer from invoices order by number").fetchall()


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_what_the_orm_writes_is_committed_with_the_job(app: Penstock, invoices: Any, sync: bool) -> None:
    seen: list[Any] = []

    async def bill_async(ctx: Context, number: int, customer: str) -> int:
        async with session_of(ctx) as session:
            session.add(Invoice(number=number, customer=customer))
            await session.commit()
            seen.append(invoices())
            found = await session.scalars(select(Invoice).where(Invoice.customer == customer))
            total = len(found.all())
        async with session_of(ctx, expire_on_commit=False) as session:  # a second one, in the same transaction
            session.add(Invoice(number=number + 1, customer=customer))
        return total

    def bill(ctx: SyncContext, number: int, customer: str) -> int:
        with session_of(ctx) as session:
            session.add(Invoice(number=number, customer=customer))
            session.commit()
            seen.append(invoices())
            total = len(session.scalars(select(Invoice).where(Invoice.customer == customer)).all())
        with session_of(ctx, expire_on_commit=False) as session:
            session.add(Invoice(number=number + 1, customer=customer))
        return total

    handler: Handler[..., Any] = app.job(kind="bill")(bill if sync else bill_async)
    job = await app.aenqueue(handler.prepare(1, "ada"))
    [result] = await app.atick()
    assert (result.state, result.error) == (JobState.SUCCEEDED, None)
    assert await job.aresult(SOON) == 1
    assert seen == [[]]
    assert invoices() == [(1, "ada"), (2, "ada")]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_nothing_is_left_of_a_job_that_fails(app: Penstock, invoices: Any, sync: bool) -> None:
    async def bill_async(ctx: Context) -> None:
        async with session_of(ctx) as session:
            session.add(Invoice(number=7, customer="ada"))
        raise LookupError("no paper")

    def bill(ctx: SyncContext) -> None:
        with session_of(ctx) as session:
            session.add(Invoice(number=7, customer="ada"))
        raise LookupError("no paper")

    handler: Handler[..., Any] = app.job(kind="bill", max_attempts=1)(bill if sync else bill_async)
    await app.aenqueue(handler.prepare())
    [result] = await app.atick()
    assert result.state is JobState.FAILED
    assert invoices() == []


async def test_a_session_that_fails_leaves_the_rest_of_the_transaction(app: Penstock, invoices: Any) -> None:
    @app.job
    async def bill(ctx: Context) -> None:
        async with session_of(ctx) as session:
            session.add(Invoice(number=1, customer="ada"))
            await session.commit()
            session.add(Invoice(number=3, customer="ada"))
            await session.flush()
            await session.rollback()
        with suppress(ProgrammingError):
            async with session_of(ctx) as session:
                session.add(Invoice(number=2, customer="ada"))
                await session.flush()
                await session.execute(text("select * from no_such_table"))
            raise AssertionError("it went well")

    await bill.aenqueue()
    [result] = await app.atick()
    assert (result.state, result.error) == (JobState.SUCCEEDED, None)
    assert invoices() == [(1, "ada")]
