"""Tasks as a project has them, most of them with what the framework itself offers."""

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import wraps
from typing import Any

import django
from django.db import DataError, OperationalError, connection, transaction

from penstock import Backoff, Context, Fail, Snooze, SyncContext
from penstock.interop.django import JobTaskContext, app
from penstock.interop.django import task as penstock_task
from tests.interop.django.shop.models import Order

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


@task()
def noop(*args: Any, **kwargs: Any) -> None: ...


@task
def bare(*args: Any, **kwargs: Any) -> None: ...


@task()
async def noop_async(*args: Any, **kwargs: Any) -> None: ...


@task()
def answer() -> int:
    return 42


def with_name(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*args: Any) -> Any:
        return function("ada", *args)

    return called


@task()
@with_name
def decorated(name: str, number: int) -> list[Any]:
    return [name, number]


@task()
def raises(what: str = "it was wrong\nin two ways") -> None:
    raise ValueError(what)


class Broken(Exception):
    pass


@task()
def raises_own() -> None:
    try:
        raises.func()
    except ValueError as error:
        raise Broken("Broken: no") from error


@task()
def leaves() -> None:
    raise SystemExit("it leaves")


@task()
def returns_a_function() -> Any:
    return lambda: True


@task(takes_context=True)
def its_id(context: Any) -> str:
    return str(context.task_result.id)


@task(takes_context=True)
async def its_attempt(context: Any, plus: int) -> int:
    return int(context.attempt) + plus


@task()
def place_order(name: str) -> int:
    return int(Order.objects.create(name=name).pk)


@task()
async def count_orders() -> int:
    return int(await Order.objects.acount())


@task()
def backend_pid(*, breaks: bool = False) -> int:
    """Of the connection it has, which it may leave broken."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        [pid] = cursor.fetchone()
        if breaks:
            with suppress(OperationalError):
                cursor.execute("select pg_terminate_backend(pg_backend_pid())")
    return int(pid)


@task(backend="patient")
def fails_twice() -> None:
    raise LookupError("not there")


@penstock_task(takes_context=True, max_attempts=3, backoff=Backoff.constant(0), queue_name="queue_1")
def flaky(context: JobTaskContext, until: int) -> int:
    context.job.progress(percent=50)
    if context.attempt < until:
        raise LookupError("not yet")
    return context.attempt


@penstock_task(takes_context=True, unique=True)
def snoozing(context: JobTaskContext) -> str:
    if context.job.job.snoozes < 1:
        raise Snooze(0)
    return "rested"


@penstock_task()
def gives_up() -> None:
    raise Fail("there is no such order")


@app.job
def greet(name: str) -> str:
    """A handler, beside the tasks."""
    Order.objects.create(name=name)
    return f"hello {name} from {os.getpid()}"


@app.job(version=2)
async def collect(ctx: Context, order: int) -> list[object]:
    """Waits, and asks for its steps again after each of its waits."""
    first = await ctx.step("first", str, order)
    await ctx.sleep(0)
    return [first, await ctx.call(greet, "Ada"), await ctx.wait_for("paid", key=str(order))]


@app.job(version=2)
def collect_in_thread(ctx: SyncContext, order: int) -> list[object]:
    first = ctx.step("first", str, order)
    ctx.sleep(0)
    return [first, ctx.call(greet, "Ada"), ctx.wait_for("paid", key=str(order))]


@app.job
def order_and_greet(ctx: SyncContext, names: list[str], *, fails: bool = False) -> str:
    """Orders in the transaction that completes it, with a greeting for each."""
    with ctx.transaction() as connection:
        connection.execute("insert into shop_order (name) select unnest(%s::text[])", [names])
    for name in names:
        ctx.enqueue(greet.prepare(name))
    if fails:
        raise LookupError("no such customer")
    return "ordered"


@app.job
async def greet_all(ctx: Context, names: list[str]) -> None:
    for name in names:
        ctx.enqueue(greet.prepare(name))


@app.job
async def order(ctx: Context) -> None:
    async with ctx.transaction():
        raise AssertionError("it has no connection for it")


@task()
def divides_by_zero(*, catches: bool = False) -> None:
    Order.objects.create(name="half")
    with suppress(DataError) if catches else nullcontext(), connection.cursor() as cursor:
        cursor.execute("select 1 / 0")


@task()
def divides_in_a_savepoint() -> None:
    Order.objects.create(name="whole")
    with suppress(DataError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select 1 / 0")
