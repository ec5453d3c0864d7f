"""What is asked of a program in a sandbox, and what it says. Whatever it does, its caller goes on."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from penstock.sandbox import Limits, ProgramFailed, Reason, Slots, call

pytestmark = pytest.mark.root

HOSTILE = Path(__file__).with_name("hostile.py")
MISSING = Path(__file__).with_name("missing.py")
LIMITS = Limits(wall=60, cpu=20, memory=1024**3, output=8_000_000)


async def test_what_a_function_makes_comes_back() -> None:
    data = os.urandom(3_000_000)
    answer = await call(HOSTILE, "echo", LIMITS, data=data, asked={"times": 2})
    assert (answer.facts, answer.content) == ({"size": 3_000_000}, 2 * data)


async def test_facts_of_another_shape_are_those_of_a_program_that_crashed() -> None:
    answer = await call(HOSTILE, "echo", LIMITS, data=b"abc")
    assert answer.read(dict[str, int]) == {"size": 3}
    with pytest.raises(ProgramFailed, match="other facts") as failed:
        answer.read(dict[str, str])
    assert failed.value.reason is Reason.CRASHED


async def test_no_more_run_beside_each_other_than_there_are_slots() -> None:
    slots, inside, most = Slots(2), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with slots:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(6)))
    assert most == 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say")
def test_there_are_as_many_slots_as_cores_that_this_process_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert Slots().count == 2


@pytest.mark.parametrize(
    ("function", "limits", "reason"),
    [
        ("crash", LIMITS, Reason.CRASHED),
        ("leave", LIMITS, Reason.CRASHED),
        ("babble", LIMITS, Reason.CRASHED),
        ("swell", Limits(wall=60, memory=300_000_000), Reason.MEMORY),
        ("spin", Limits(wall=300, cpu=1), Reason.CPU),
        ("sleep", Limits(wall=0.5), Reason.TIMEOUT),
        ("flood", LIMITS, Reason.OUTPUT),
        ("refuse", LIMITS, Reason.REFUSED),
        ("fail", LIMITS, Reason.RAISED),
    ],
)
async def test_whatever_goes_wrong_has_a_reason(function: str, limits: Limits, reason: Reason) -> None:
    before = psutil.Process().children()
    async with asyncio.timeout(100):
        with pytest.raises(ProgramFailed) as failed:
            # more than a socket holds, so that whoever does not read leaves us writing
            await call(HOSTILE, function, limits, data=bytes(1_000_000))
    assert failed.value.reason is reason
    assert psutil.Process().children() == before


async def test_a_library_that_is_not_there_is_named() -> None:
    with pytest.raises(ProgramFailed, match="no_such_decoder") as failed:
        # its data is never read
        await call(MISSING, "any", LIMITS, data=bytes(5_000_000))
    assert failed.value.reason is Reason.MISSING


async def test_files_are_given_and_others_have_a_size(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"abc")
    reads, writes = {"source": tmp_path / "source"}, {"to": tmp_path / "to"}
    limits = Limits(wall=60, file_size=1000)
    await call(HOSTILE, "copy", limits, reads=reads, writes=writes)
    assert (tmp_path / "to").read_bytes() == b"abc"
    with pytest.raises(ProgramFailed, match="File too large"):
        await call(HOSTILE, "write", limits, data=bytes(5000), writes=writes)
    assert (tmp_path / "to").stat().st_size == 1000


def test_it_works_outside_of_the_main_thread_and_beside_others() -> None:
    async def several() -> list[bytes]:
        return [each.content for each in await asyncio.gather(*(call(HOSTILE, "echo", LIMITS) for _ in range(3)))]

    async def in_a_thread() -> list[bytes]:
        return await asyncio.to_thread(asyncio.run, several())

    assert asyncio.run(in_a_thread()) == [b"", b"", b""]
