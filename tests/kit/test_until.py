"""What a wait that is in vain says of itself."""

import asyncio

import pytest

from tests.kit.until import soon, until, wait_until


async def test_it_returns_what_the_condition_gave() -> None:
    looks = iter(["", "", "found"])
    assert await until(lambda: next(looks)) == "found"
    numbers = iter(range(5))

    async def number() -> int:
        return next(numbers)

    assert await until(number, so=lambda found: found == 3) == 3
    assert await until(number) == 4
    looks = iter(["", "found"])
    assert wait_until(lambda: next(looks)) == "found"


async def test_a_wait_in_vain_says_for_what_and_what_there_was() -> None:
    jobs: list[int] = []

    async def all_have_ended() -> int:
        return 0

    with pytest.raises(AssertionError, match=r"not within 0\.01 s: .*len\(jobs\) > 1, .* gave False"):
        await until(lambda: len(jobs) > 1, within=0.01)
    with pytest.raises(AssertionError, match=r"all_have_ended \(the last look gave 0\)"):
        await until(all_have_ended, within=0.01)
    with pytest.raises(AssertionError, match=r"two jobs \(the last look gave \[\]\)"):
        wait_until(lambda: jobs, within=0.01, what="two jobs")
    with pytest.raises(AssertionError, match=r"not within 0\.01 s: <coroutine object Event\.wait"):
        await soon(asyncio.Event().wait(), within=0.01)


async def test_a_timeout_of_what_is_awaited_is_its_own() -> None:
    async def gives_up() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await soon(gives_up())
