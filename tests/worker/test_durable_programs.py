"""Random programs of steps, sleeps, calls, gathers and waits, whose workers die at any statement: what comes of them is
what comes of an undisturbed run, every job that was called has one result, no event is lost or had twice, and time and
chance are what they were before, and nowhere the same."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID, uuid4

import hypothesis.strategies as st
import msgspec
import psycopg
import pytest
from hypothesis import given, settings

from penstock import CallFailed, Context, Penstock, WaitTimeout
from penstock.callbacks import read_token
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.job import JobState
from penstock.worker.calling import AsyncCall
from penstock.worker.ending import Ending, Failed, NothingToReport, Succeeded, ending_of_raised
from penstock.worker.run import Run

T = TypeVar("T")
Program = list[Any]

SECRET = "a secret of sixteen characters or more"


@pytest.fixture(autouse=True)
def _called_back_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://jobs.example.com")
    monkeypatch.setenv("PENSTOCK_SIGNING_SECRET", SECRET)


ALONE = st.sampled_from([
    ["step"], ["sleep"], ["wait"], ["wait, with time"], ["wait in vain"], ["call in vain"], ["take"],
    ["take in a step"],
])  # fmt: skip


def programs() -> st.SearchStrategy[Program]:
    return st.recursive(
        st.lists(ALONE, max_size=4),
        lambda inner: st.lists(
            st.one_of(
                ALONE,
                inner.map(lambda program: ["call", program]),
                inner.map(lambda program: ["try", program]),
                st.lists(inner, min_size=1, max_size=3).map(lambda several: ["gather", several]),
            ),
            max_size=4,
        ),
        max_leaves=8,
    )


def expected(program: Program, path: str) -> list[Any]:
    """What it gives, by thought alone."""
    results: list[Any] = []
    for number, (what, *more) in enumerate(program):
        here = f"{path}.{number}"
        match what:
            case "step":
                results.append(f"step {here}")
            case "wait" | "wait, with time":
                results.append({"for": here})
            case "wait in vain" | "call in vain":
                results.append("nothing")
            case "call":
                results.append(expected(more[0], here))
            case "try":
                results += [expected(more[0], here), f"leave {here}"]
            case "gather":
                results.append([expected(each, f"{here}.{place}") for place, each in enumerate(more[0])])
    return results


def waits_of(program: Program, path: str) -> list[str]:
    found: list[str] = []
    for number, (what, *more) in enumerate(program):
        here = f"{path}.{number}"
        match what:
            case "wait" | "wait, with time":
                found.append(here)
            case "call" | "try":
                found += waits_of(more[0], here)
            case "gather":
                found += [each for place, inner in enumerate(more[0]) for each in waits_of(inner, f"{here}.{place}")]
    return found


def jobs_of(program: Program) -> tuple[int, int]:
    """How many jobs succeed, and how many fail."""
    succeed, fail = 1, 0
    for what, *more in program:
        fail += what == "call in vain"
        succeed -= what == "try"
        for inner in more if what in ("call", "try") else more[0] if what == "gather" else ():
            each = jobs_of(inner)
            succeed, fail = succeed + each[0], fail + each[1]
    return succeed, fail


class Killed(BaseException):
    """The worker's process has ended at this point."""


class Mortal:
    """An engine whose caller dies before, or after, some of what it asks for."""

    def __init__(self, app: Penstock, deaths: Sequence[int]) -> None:
        self._engine = app.engine
        self._deaths = list(deaths)
        self.asked = 0
        self.faults = app.engine.faults
        self.capabilities = app.engine.capabilities

    async def arun(self, command: Command[T]) -> T:
        death = self._deaths[self.asked] if self.asked < len(self._deaths) else 0
        self.asked += 1
        if death == 1:
            raise Killed
        result = await self._engine.arun(command)
        if death == 2:
            raise Killed
        return result


class World:
    """One worker after another, each of which lives until it is killed."""

    def __init__(self, app: Penstock, deaths: Sequence[int]) -> None:
        self.app = app
        self.engine = Mortal(app, deaths)

    async def work(self) -> bool:
        """One job, if there is one that can run."""
        lease = await self.app.engine.arun(commands.OpenLease("worker"))
        try:
            await self.app.engine.arun(commands.Promote())
            for job in await self.engine.arun(commands.Claim(lease, "default")):
                await self._end(lease, job, await self._ending(Run(job, lease, 0.0, "default")))
                return True
            return False
        except Killed:
            return True
        finally:
            await self.app.engine.arun(commands.ExpireLease(lease))

    async def _ending(self, run: Run) -> Ending:
        try:
            handler = self.app.handler(run.job.kind)
            return await AsyncCall(handler, self.engine, lambda *_: None, (), None)(run)  # type: ignore[arg-type]
        except Killed:
            raise
        except BaseException as error:
            return ending_of_raised(error)

    async def _end(self, lease: Any, job: Any, ending: Ending) -> None:
        match ending:
            case Succeeded(output=output):
                await self.engine.arun(commands.Complete(lease, [commands.Completed(job.id, job.claims, _raw(output))]))
            case Failed(error=error):
                await self.engine.arun(commands.Fail(lease, [commands.FailedAttempt(job.id, job.claims, error)]))
            case NothingToReport():
                pass
            case other:
                raise AssertionError(other)


def _raw(output: bytes | None) -> Any:
    return commands.NULL if output is None else msgspec.Raw(output)


class Taken:
    """What handlers took of time and chance, by their job, the place in its program and what it was."""

    def __init__(self) -> None:
        self.seen: dict[tuple[UUID, str, str], set[object]] = {}
        self.left_early: list[str] = []

    async def take(self, ctx: Context, here: str) -> None:
        callback = read_token(SECRET, ctx.callback_url("paid").rpartition("/")[2])
        assert callback is not None
        took = {"uuid": ctx.uuid(), "random": ctx.random(), "callback": callback.step, "now": await ctx.now()}
        for what, value in took.items():
            self.seen.setdefault((ctx.id, here, what), set()).add(value)

    async def leave(self, here: str, *, through: bool) -> str:
        """What stands in a `finally` is done when its block is through, not when it waits."""
        if not through:
            self.left_early.append(here)
        return f"leave {here}"

    def check(self) -> None:
        assert not self.left_early
        values: dict[tuple[UUID, str], list[object]] = {}
        for (job, _, what), seen in self.seen.items():
            assert len(seen) == 1, what
            values.setdefault((job, what), []).extend(seen)
        for each in values.values():
            assert len(set(each)) == len(each)


def interpreter(app: Penstock) -> tuple[Any, Taken]:
    taken = Taken()

    @app.job(max_attempts=1)
    async def fail(run: str) -> None:
        raise ValueError(run)

    @app.job(max_attempts=10_000)
    async def run_program(ctx: Context, program: Program, path: str, run: str) -> list[Any]:
        return await go_through(ctx, program, path, run)

    async def go_through(ctx: Context, program: Program, path: str, run: str) -> list[Any]:
        results: list[Any] = []
        for number, (what, *more) in enumerate(program):
            here = f"{path}.{number}"
            match what:
                case "step":
                    results.append(await ctx.step(f"step {here}", "step {}".format, here))
                case "sleep":
                    await ctx.sleep(0.001)
                case "take":
                    await taken.take(ctx, here)
                case "take in a step":
                    await ctx.step(f"step {here}", taken.take, ctx, here)
                case "wait":
                    results.append(await ctx.wait_for(f"event of {run}", key=here))
                case "wait, with time":
                    results.append(await ctx.wait_for(f"event of {run}", key=here, timeout=3600))
                case "wait in vain":
                    try:
                        await ctx.wait_for(f"event of {run}", key=here, timeout=0.001)
                    except WaitTimeout:
                        results.append("nothing")
                case "call in vain":
                    try:
                        await ctx.call(fail, run)
                    except CallFailed:
                        results.append("nothing")
                case "call":
                    results.append(await ctx.call(run_program, more[0], here, run))
                case "gather":
                    parts = [run_program.prepare(each, f"{here}.{at}", run) for at, each in enumerate(more[0])]
                    results.append(await ctx.gather(*parts))
                case "try":
                    through = killed = False
                    try:
                        results.append(await go_through(ctx, more[0], here, run))
                        through = True
                    except Killed:
                        killed = True
                        raise
                    finally:
                        if not killed:  # of a process that has ended there is nothing left to do so
                            results.append(await ctx.step(f"leave {here}", taken.leave, here, through=through))
        return results

    return run_program, taken


async def live_through(
    url: str, app: Penstock, work: tuple[Any, Taken], program: Program, deaths: Sequence[int], moments: Sequence[int]
) -> int:
    """How many statements it took."""
    run = uuid4().hex
    handler, taken = work
    world = World(app, deaths)
    due: dict[int, list[str]] = {}
    for place, key in enumerate(waits_of(program, "top")):
        due.setdefault(moments[place % len(moments)], []).append(key)
    for key in due.pop(0, []):
        await app.aemit(f"event of {run}", key=key, payload={"for": key})
    handle = await handler.aenqueue(program, "top", run)
    idle = 0
    for turn in range(1, 2000):
        for key in due.pop(turn, []):
            await app.aemit(f"event of {run}", key=key, payload={"for": key})
        if await world.work():
            idle = 0
            continue
        job = await app.jobs.aget(handle.id)
        assert job is not None
        if job.state.final:
            break
        idle += 1
        assert idle < 500, f"stands still as {job.state}"
        if due and idle > 3:
            # nobody has anything to do until the next event
            due = {turn + 1 + place: keys for place, keys in enumerate(due.values())}
        await asyncio.sleep(0.001)
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert (job.state, job.output) == (JobState.SUCCEEDED, expected(program, "top")), job.errors
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await connection.execute(
            "select (select count(*) from penstock.all_jobs where args->>'run' = %(run)s and state = 'succeeded'),"
            " (select count(*) from penstock.all_jobs where args->>'run' = %(run)s and state = 'failed'),"
            " (select count(*) from penstock.jobs), (select count(*) from penstock.waits),"
            " (select count(*) from penstock.events)",
            {"run": run},
        )
        assert await found.fetchone() == (*jobs_of(program), 0, 0, 0)
    taken.check()
    return world.engine.asked


@settings(max_examples=settings().max_examples // 5)
@given(
    program=programs(),
    deaths=st.lists(st.sampled_from([0, 0, 1, 2]), max_size=30),
    moments=st.lists(st.integers(0, 12), min_size=1, max_size=5),
)
def test_whoever_dies_where_the_outcome_is_that_of_an_undisturbed_run(
    url: str, program: Program, deaths: list[int], moments: list[int]
) -> None:
    async def live() -> None:
        async with Penstock(url) as app:
            await live_through(url, app, interpreter(app), program, deaths, moments)

    asyncio.run(live())


EVERYTHING: Program = [
    ["step"], ["sleep"], ["wait"], ["wait in vain"], ["call in vain"], ["wait, with time"], ["call", [["step"]]],
    ["gather", [[["step"]], [["sleep"], ["wait"]]]], ["take in a step"], ["take"], ["sleep"], ["take in a step"],
    ["step"], ["try", [["step"], ["try", [["sleep"], ["wait"]]]]],
]  # fmt: skip


@pytest.mark.parametrize(
    "every", [pytest.param(5, id="each fifth"), pytest.param(1, id="each", marks=pytest.mark.slow)]
)
async def test_a_worker_may_die_before_and_after_each_statement(app: Penstock, url: str, every: int) -> None:
    work = interpreter(app)
    moments = [3, 0, 9]
    statements = await live_through(url, app, work, EVERYTHING, [], moments)
    assert statements > 30
    for place in range(0, statements, every):
        for death in (1, 2):
            await live_through(url, app, work, EVERYTHING, [*[0] * place, death], moments)
