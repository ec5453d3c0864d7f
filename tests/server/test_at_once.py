"""A coroutine that is run here and now, as far as it goes."""

import asyncio

import pytest

from penstock.server.http.eager import run_now


async def test_what_waits_for_nothing_is_done_when_it_returns() -> None:
    done = []

    async def work() -> None:
        done.append(1)

    assert run_now(work()) is None
    assert done == [1]


async def test_what_has_to_wait_is_finished_by_a_task() -> None:
    done: list[object] = []
    first: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        done.append("begun")
        done.append(await first)
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await asyncio.sleep(0.001)
        done.append("ended")

    task = run_now(work())
    assert done == ["begun"]
    first.set_result(7)
    assert task is not None
    await task
    assert done == ["begun", 7, "ended"]


async def test_what_it_waited_for_may_fail() -> None:
    first: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    caught = []

    async def work() -> None:
        try:
            await first
        except ValueError as error:
            caught.append(error)
            await asyncio.sleep(0)
            raise KeyError from error

    task = run_now(work())
    first.set_exception(ValueError())
    assert task is not None
    with pytest.raises(KeyError):
        await task
    assert len(caught) == 1


async def test_the_rest_can_be_cancelled() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = run_now(work())
    assert task is not None
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_what_fails_at_once_fails_here() -> None:
    async def work() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        run_now(work())
