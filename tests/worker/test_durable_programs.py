"""Random programs of steps, sleeps, calls, gathers and waits, whose workers die at any statement: what comes of them is
what comes of an undisturbed run, every job that was called has one result, and no event is lost or had twice."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import uuid4

import hypothesis.strategies as st
import msgspec
import psycopg
from hypothesis import given, note, settings

from penstock import Context, Handler, Penstock
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.job import JobState
from penstock.worker.calling import AsyncCall
from penstock.worker.run import Ending, Failed, Run, Settled, Succeeded, ending_of_raised

T = TypeVar("T")
Program = list[Any]

STEP, SLEEP = st.just(["step"]), st.just(["sleep"])
WAIT = st.just(["wait"])


def programs() -> st.SearchStrategy[Program]:
    return st.recursive(
        st.lists(st.one_of(STEP, SLEEP, WAIT), max_size=4),
        lambda inner: st.lists(
            st.one_of(
                STEP,
                SLEEP,
                WAIT,
                inner.map(lambda program: ["call", program]),
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
            case "wait":
                results.append({"for": here})
            case "call":
                results.append(expected(more[0], here))
            case "gather":
                results.append([expected(each, f"{here}.{place}") for place, each in enumerate(more[0])])
    return results


def waits_of(program: Program, path: str) -> list[str]:
    found: list[str] = []
    for number, (what, *more) in enumerate(program):
        here = f"{path}.{number}"
        match what:
            case "wait":
                found.append(here)
            case "call":
                found += waits_of(more[0], here)
            case "gather":
                found += [each for place, inner in enumerate(more[0]) for each in waits_of(inner, f"{here}.{place}")]
    return found


def jobs_of(program: Program) -> int:
    called = 0
    for what, *more in program:
        called += jobs_of(more[0]) if what == "call" else 0
        called += sum(jobs_of(each) for each in more[0]) if what == "gather" else 0
    return 1 + called


class Killed(BaseException):
    """The worker's process has ended at this point."""


class Mortal:
    """An engine whose caller dies before, or after, some of what it asks for."""

    def __init__(self, app: Penstock, deaths: Sequence[int]) -> None:
        self._engine = app.engine
        self._deaths = list(deaths)
        self.faults = app.engine.faults
        self.capabilities = app.engine.capabilities

    async def arun(self, command: Command[T]) -> T:
        death = self._deaths.pop(0) if self._deaths else 0
        if death == 1:
            raise Killed
        result = await self._engine.arun(command)
        if death == 2:
            raise Killed
        return result


class World:
    """One worker after another, each of which lives until it is killed."""

    def __init__(self, app: Penstock, handler: Handler[..., Any], deaths: Sequence[int]) -> None:
        self.app = app
        self.engine = Mortal(app, deaths)
        self.call = AsyncCall(handler, self.engine, lambda *_: None, (), None)  # type: ignore[arg-type]

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
            return await self.call(run)
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
            case Settled():
                pass
            case other:
                raise AssertionError(other)


def _raw(output: bytes | None) -> Any:
    return commands.NULL if output is None else msgspec.Raw(output)


def interpreter(app: Penstock) -> Any:
    @app.job(max_attempts=10_000)
    async def run_program(ctx: Context, program: Program, path: str, run: str) -> list[Any]:
        results: list[Any] = []
        for number, (what, *more) in enumerate(program):
            here = f"{path}.{number}"
            match what:
                case "step":
                    results.append(await ctx.step(f"step {number}", "step {}".format, here))
                case "sleep":
                    await ctx.sleep(0.001)
                case "wait":
                    results.append(await ctx.wait_for(f"event of {run}", key=here))
                case "call":
                    results.append(await ctx.call(run_program, more[0], here, run))
                case "gather":
                    parts = [run_program.prepare(each, f"{here}.{at}", run) for at, each in enumerate(more[0])]
                    results.append(await ctx.gather(*parts))
        return results

    return run_program


async def live_through(url: str, program: Program, deaths: Sequence[int], moments: Sequence[int]) -> None:
    async with Penstock(url) as app:
        run = uuid4().hex
        handler = interpreter(app)
        world = World(app, handler, deaths)
        keys = waits_of(program, "top")
        due: dict[int, list[str]] = {}
        for place, key in enumerate(keys):
            due.setdefault(moments[place % len(moments)] if moments else 0, []).append(key)
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
        note(str(job.errors))
        assert (job.state, job.output) == (JobState.SUCCEEDED, expected(program, "top"))
        async with await psycopg.AsyncConnection.connect(url) as connection:
            found = await connection.execute(
                "select (select count(*) from penstock.all_jobs where args->>'run' = %s and state = 'succeeded'),"
                " (select count(*) from penstock.jobs), (select count(*) from penstock.waits),"
                " (select count(*) from penstock.events)",
                [run],
            )
            assert await found.fetchone() == (jobs_of(program), 0, 0, 0)


@settings(max_examples=settings().max_examples // 5)
@given(
    program=programs(),
    deaths=st.lists(st.sampled_from([0, 0, 1, 2]), max_size=30),
    moments=st.lists(st.integers(0, 12), min_size=1, max_size=5),
)
def test_whoever_dies_where_the_outcome_is_that_of_an_undisturbed_run(
    url: str, program: Program, deaths: list[int], moments: list[int]
) -> None:
    asyncio.run(live_through(url, program, deaths, moments))
