"""A steady flow of jobs is worked off as promptly while somebody's old snapshot keeps whatever has come and gone."""

import asyncio
import time

import pytest

from penstock import Penstock
from penstock.engine import commands, cursor
from penstock.engine.postgres import listener
from penstock.engine.postgres.listener import Notifications
from penstock.job import NewJob
from penstock.worker import claimer
from penstock.worker.run import Lane
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.old_snapshot import NAME, old_snapshot

GONE = 15_000
ROUNDS = 30
TOGETHER = 25


async def flow(url: str, hand: Hand) -> tuple[float, float]:
    """Jobs come, some together and one by itself, as soon as the last ones have started. What the whole database reads
    for each, in blocks, and the median of the seconds from enqueue to start."""
    waits: list[float] = []
    started = asyncio.Event()

    async with Penstock(url) as app:

        @app.job
        async def note(sent: float) -> None:
            waits.append(time.perf_counter() - sent)
            started.set()

        before = await blocks_read(hand)
        async with working(app):
            for number in range(1, ROUNDS + 1):
                await note.aenqueue_many([{"sent": time.perf_counter()}] * TOGETHER)
                await note.aenqueue(time.perf_counter())
                while len(waits) < number * (TOGETHER + 1):
                    await soon(started.wait())
                    started.clear()
    return (await blocks_read(hand) - before) / len(waits), sorted(waits)[len(waits) // 2]


async def blocks_read(hand: Hand) -> int:
    """Of the whole database, by everybody who has left it: what they read is counted then at the latest."""

    await until(lambda: not hand.rows(_OTHERS))
    hand.do("select pg_stat_clear_snapshot()")
    return int(hand.value(_BLOCKS))


# without the catalogs, which are read anew whenever other tests have filled the queue of invalidations
_BLOCKS = """
select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)) from pg_statio_user_tables
"""
_SETTLED = """
select settled >= last_value
  from penstock.floors, penstock.turn_numbers
 where queue = 'default'
 order by number desc
 limit 1
"""
_OTHERS = f"""
select from pg_stat_activity
 where datname = current_database() and application_name <> '{NAME}' and pid <> pg_backend_pid()
"""


def come_and_go(hand: Hand) -> None:
    """What a worker has done within the last seconds."""
    worker = hand.worker(seconds=3600)
    hand.enqueue_many(NewJob(kind="note", args=b'{"sent": 0}'), GONE)
    while jobs := worker.claim(1000):
        worker.complete(*jobs)
    hand.let_others_end()
    while hand.value(_SETTLED) is not True:
        hand.run(commands.Tend(worker.lease))
        assert worker.claim(1) == []
    hand.run(commands.CloseLease(worker.lease))


async def test_a_steady_flow_reads_as_little_beside_an_old_snapshot(url: str, connect: Connect) -> None:
    hand = Hand(connect())
    await flow(url, hand)
    without, waited_without = await flow(url, hand)
    with old_snapshot(url):
        come_and_go(hand)
        # the best of a few: while other tests have transactions under way, whoever looks begins further back
        beside, waited = min([await flow(url, hand) for _ in range(3)])
    figures = (
        f"{without:.0f} blocks a job and {waited_without * 1e3:.0f} ms from enqueue to start without it, "
        f"{beside:.0f} blocks and {waited * 1e3:.0f} ms beside it"
    )
    print(figures)
    assert beside <= 3 * without, figures


async def test_what_lies_past_the_cursor_waits_for_no_look_at_what_lies_before(
    app: Penstock, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as if the last look at everything had taken so long that the next one is far away
    monkeypatch.setattr(cursor, "FULL_LOOK_SHARE", 1e9)
    monkeypatch.setattr(claimer, "BUSY", 0.0)
    started, go_on = asyncio.Queue[int](), asyncio.Event()
    hand = Hand(connect())

    @app.job
    async def note(number: int) -> None:
        started.put_nowait(number)
        await go_on.wait()

    async def waiting() -> bool:
        return bool(hand.value("select count(*) from penstock.waiting"))

    looked: list[Lane] = []

    def claimed(lane: Lane, jobs: int, wanted: int) -> None:
        looked.append(lane)
        claimed_as_always(lane, jobs, wanted)

    claimed_as_always = Lane.claimed
    monkeypatch.setattr(Lane, "claimed", claimed)
    async with working(app, {"default": 1}):
        await until(waiting)
        await note.aenqueue_many([{"number": 1}, {"number": 2}])
        assert await soon(started.get()) == 1

        async def not_waiting() -> bool:
            return not await waiting()

        # a busy worker asks not to be told of more
        await until(not_waiting)
        go_on.set()
        assert await soon(started.get()) == 2

        await until(lambda: looked[0].in_hand == 0 and looked[0].look_at > time.monotonic())
        await note.aenqueue_many([{"number": 3}, {"number": 4}])
        assert [await soon(started.get(), 10), await soon(started.get(), 10)] == [3, 4]


async def test_a_worker_that_is_told_of_nothing_looks_past_the_cursor_and_listens_again(
    app: Penstock, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    tries, hears = 0, asyncio.Event()

    class Deaf(Notifications):
        async def open(self, within: float) -> bool:
            """Nothing is heard at first, as on a machine that is busy with other things."""
            nonlocal tries
            tries += 1
            if tries == 1:
                return False
            await hears.wait()
            return await super().open(within)

    monkeypatch.setattr(cursor, "FULL_LOOK_SHARE", 1e9)
    monkeypatch.setattr(listener, "Notifications", Deaf)
    monkeypatch.setattr(listener, "_TRY_AGAIN", (0.0, 60.0))
    hand = Hand(connect())

    @app.job
    async def note(number: int) -> int:
        return number

    async with working(app, {"default": 1}):
        for number in (0, 2):
            for job in await note.aenqueue_many([{"number": number}, {"number": number + 1}]):
                assert await job.aresult(10) in (number, number + 1)
        hears.set()
        await until(lambda: hand.value("select count(*) from penstock.waiting"))
    assert tries == 2


async def test_what_comes_between_a_look_and_being_told_of_more_waits_for_neither(
    app: Penstock, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setattr(cursor, "FULL_LOOK_SHARE", 1e9)
    ran = asyncio.Queue[int]()
    hand = Hand(connect())

    @app.job
    async def note(number: int) -> None:
        ran.put_nowait(number)

    async with working(app, {"default": 1}) as worker:
        await until(lambda: hand.value("select count(*) from penstock.waiting"))

        async def first_another_comes(queue: str) -> float | None:
            monkeypatch.setattr(worker.listener, "register", register)
            await note.aenqueue(6)
            return await register(queue)

        for number in (0, 2, 4):
            for job in await note.aenqueue_many([{"number": number}, {"number": number + 1}]):
                await job.aresult(10)
                assert ran.get_nowait() in (number, number + 1)
        register = worker.listener.register
        monkeypatch.setattr(worker.listener, "register", first_another_comes)
        # nobody tells it of anything until it has asked for that by its next one
        app.engine.run(commands.ExpireLease(worker.lease))
        worker.leases.check_at_once()
        assert await soon(ran.get(), 10) == 6
