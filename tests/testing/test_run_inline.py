"""run_inline: what a worker would do with a handler, without a queue and without a database."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock import (
    Cancel,
    Context,
    Fail,
    Flow,
    Handler,
    InvalidArguments,
    InvalidInput,
    JobState,
    PayloadTooLarge,
    Penstock,
    PenstockError,
    ReplayMismatch,
    Snooze,
    SyncContext,
)
from penstock.testing import Earlier, arun_inline, run_inline
from penstock.testing.inline import InlineRun

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@dataclass
class Page:
    size: str
    margins: tuple[float, float] = (1.0, 1.0)


@pytest.fixture
def app() -> Penstock:
    """An app whose database cannot be reached, so that whatever runs needed none."""
    return Penstock(NOWHERE)


def test_the_handler_gets_its_arguments_as_after_a_journey_through_json(app: Penstock) -> None:
    seen: list[Any] = []

    @app.job
    def export(page: Page, at: datetime, anything: Any, copies: int = 3) -> None:
        seen.extend([page, at, anything, copies])

    at = datetime(2030, 1, 1, tzinfo=UTC)
    page = Page("A4", (0.5, 0.5))
    run_inline(export, page, at, anything={"tuple": (1, 2)})
    assert seen == [page, at, {"tuple": [1, 2]}, 3]
    assert seen[0] is not page


def test_what_enqueue_would_refuse_is_refused(app: Penstock) -> None:
    @app.job
    def export(page: Page, note: str = "") -> None:
        raise AssertionError("was called")

    for wrong in ({"page": 5}, {}, {"page": Page("A4"), "colour": "red"}, {"page": Page("A4"), "note": "\x00"}):
        with pytest.raises(InvalidArguments):
            run_inline(export, **wrong)
    with pytest.raises(PayloadTooLarge):
        run_inline(export, Page("A4"), note="word, " * 100_000)


def test_the_output_is_what_result_would_return(app: Penstock) -> None:
    @app.job
    def typed() -> Page:
        return Page("A5")

    @app.job
    async def untyped() -> Any:
        return {"pages": (1, 2), "at": datetime(2030, 1, 1, tzinfo=UTC)}

    assert run_inline(typed).output == Page("A5")
    assert run_inline(untyped).output == {"pages": [1, 2], "at": "2030-01-01T00:00:00Z"}


def test_an_output_that_cannot_be_stored_is_refused(app: Penstock) -> None:
    @app.job
    def read() -> bytes:
        return b"%PDF"

    with pytest.raises(InvalidArguments, match="bytes"):
        run_inline(read)


def test_progress_is_recorded_as_reported(app: Penstock) -> None:
    @app.job
    async def walk(ctx: Context) -> None:
        await ctx.progress(10, "setting out")
        ctx.progress(done=3, total=4, phase="hills")

    @app.job
    def stroll(ctx: SyncContext) -> None:
        ctx.progress(200)

    assert run_inline(walk).progress == [
        {"percent": 10.0, "message": "setting out"},
        {"percent": 75.0, "phase": "hills", "done": 3, "total": 4},
    ]
    assert run_inline(stroll).progress == [{"percent": 100.0}]


@pytest.mark.parametrize("outcome", [Snooze(30), Cancel("enough"), Fail("broken for good")])
def test_an_outcome_is_returned_and_nothing_is_enqueued_with_it(app: Penstock, outcome: Snooze | Cancel | Fail) -> None:
    @app.job
    def other() -> None: ...

    @app.job
    def returns(ctx: SyncContext) -> Snooze | Cancel | Fail:
        ctx.enqueue(other.prepare())
        return outcome

    run: InlineRun[Any] = run_inline(returns)
    assert (run.outcome, run.output, run.enqueued) == (outcome, None, [])


def test_a_snooze_from_deep_inside_is_an_outcome(app: Penstock) -> None:
    @app.job
    async def poll(ctx: Context) -> str:
        try:
            ctx.snooze(15)
        except Exception as error:
            raise AssertionError("caught") from error

    @app.job
    async def poll_in_a_group(ctx: Context) -> None:
        async def look() -> None:
            ctx.snooze(20)

        async with asyncio.TaskGroup() as group:
            group.create_task(look())

    @app.job
    def poll_in_sync(ctx: SyncContext) -> str:
        ctx.progress(40)
        ctx.snooze(5)

    assert run_inline(poll).outcome == Snooze(15)
    assert run_inline(poll_in_a_group).outcome == Snooze(20)
    run = run_inline(poll_in_sync)
    assert (run.outcome, run.progress) == (Snooze(5), [{"percent": 40.0}])


def test_what_it_enqueues_is_recorded_and_goes_nowhere(app: Penstock) -> None:
    @app.job
    def send(to: str) -> None: ...

    @app.job
    async def publish(ctx: Context) -> str:
        first = ctx.enqueue(send.prepare(to="ada"))
        flow = Flow(then=send.prepare(to="all"))
        flow.add(send.prepare(to="grace"))
        ctx.enqueue(flow)
        return str(first)

    run = run_inline(publish)
    assert [job.args for job in run.enqueued] == [b'{"to":"ada"}', b'{"to":"all"}', b'{"to":"grace"}']
    assert run.output is not None
    assert UUID(run.output) == run.enqueued[0].id


def test_steps_are_remembered_in_a_dict_that_the_next_attempt_may_be_given(app: Penstock) -> None:
    called: list[str] = []

    def charge(amount: int) -> Page:
        called.append("charge")
        return Page(str(amount))

    async def ship() -> tuple[int, int]:
        called.append("ship")
        if called.count("ship") == 1:
            raise OSError("no lorry")
        return (1, 2)

    @app.job
    async def order(ctx: Context) -> list[Any]:
        return [await ctx.step("charge", charge, 5), await ctx.step("ship", ship), ctx.attempt]

    steps: dict[str, Any] = {}
    with pytest.raises(OSError, match="no lorry"):
        run_inline(order, steps=steps)
    assert steps == {"charge": {"size": "5", "margins": [1.0, 1.0]}}
    run = run_inline(order, steps=steps, attempt=2)
    assert called == ["charge", "ship", "ship"]
    assert run.steps == {"charge": {"size": "5", "margins": [1.0, 1.0]}, "ship": [1, 2]}
    assert run.output == [{"size": "5", "margins": [1.0, 1.0]}, [1, 2], 2]


def test_a_sync_handler_has_steps_too(app: Penstock) -> None:
    @app.job
    def order(ctx: SyncContext) -> list[int]:
        return [ctx.step("one", lambda: 1), ctx.step("two", lambda: 2), ctx.step("given", lambda: 3)]

    run = run_inline(order, steps={"given": 9})
    assert run.output == [1, 2, 9]
    assert run.steps == {"one": 1, "two": 2, "given": 9}


def test_two_steps_of_one_name_are_refused_as_by_a_worker(app: Penstock) -> None:
    @app.job
    def order(ctx: SyncContext) -> list[int]:
        return [ctx.step("one", lambda: 1), ctx.step("one", lambda: 2)]

    with pytest.raises(ReplayMismatch, match="two steps are called 'one'"):
        run_inline(order)


def test_outputs_are_those_that_the_test_gives(app: Penstock) -> None:
    @app.job
    async def bind(ctx: Context) -> list[Any]:
        return [[each.state, each.name, each.output] for each in await ctx.outputs()]

    @app.job
    def bind_in_sync(ctx: SyncContext) -> list[Any]:
        return [each.output for each in ctx.outputs()]

    failed = Earlier(UUID(int=1), "cover", "draw", None, JobState.FAILED, {}, None)
    run = run_inline(bind, outputs=[{"pages": (1, 2)}, failed])
    assert run.output == [["succeeded", None, {"pages": [1, 2]}], ["failed", "cover", None]]
    assert run_inline(bind_in_sync, outputs=["a", 2]).output == ["a", 2]


def test_the_context_knows_the_job_and_its_attempt(app: Penstock) -> None:
    @app.job(max_attempts=2)
    def who(ctx: SyncContext) -> list[Any]:
        return [ctx.kind, ctx.owner, ctx.attempt, ctx.last_attempt, ctx.cancelled]

    assert run_inline(who.using(owner="ada"), attempt=2).output == ["who", "ada", 2, True, False]


def test_what_the_handler_raises_is_raised(app: Penstock) -> None:
    @app.job
    def fails() -> None:
        raise ZeroDivisionError("as it happens")

    @app.job
    async def fails_later() -> None:
        raise ZeroDivisionError("as it happens")

    for handler in (fails, fails_later):
        with pytest.raises(ZeroDivisionError, match="as it happens") as raised:
            run_inline(handler)
        assert raised.value.__context__ is None


def test_an_argument_with_the_name_of_a_setting_is_given_by_position(app: Penstock) -> None:
    @app.job
    def climb(steps: int) -> int:
        return steps

    assert run_inline(climb, 39).output == 39
    with pytest.raises(InvalidInput, match="by position"):
        run_inline(climb, steps={"a": 1})


def test_a_batch_handler_is_run_with_the_arguments_of_all_its_jobs(app: Penstock) -> None:
    @app.job(batch=3)
    def measure(pages: list[Page]) -> list[Any]:
        return [page.size if page.size != "B1" else ValueError(page.size) for page in pages]

    @app.job(batch=3)
    async def forget(pages: list[int]) -> list[int]:
        return [1, 2, 3]

    output = run_inline(measure, [Page("A4"), Page("B1")]).output
    assert output is not None
    assert output[0] == "A4"
    assert isinstance(output[1], ValueError)
    for wrong in ([], [1], [Page("A4")] * 4, Page("A4")):
        with pytest.raises(InvalidArguments):
            run_inline(measure, wrong)
    for pages, said in (([1, 2], "a result for each of its 2 jobs"), ([1], "a result for its job")):
        with pytest.raises(TypeError, match=said):
            run_inline(forget, pages=pages)


async def test_arun_inline_runs_on_the_test_s_own_loop(app: Penstock) -> None:
    places: list[object] = []

    @app.job
    async def here() -> None:
        places.append(asyncio.get_running_loop())

    @app.job
    def there(ctx: SyncContext) -> None:
        ctx.progress(1)
        places.append(threading.current_thread())

    await arun_inline(here)
    assert (await arun_inline(there)).progress == [{"percent": 1.0}]
    assert places[0] is asyncio.get_running_loop()
    assert places[1] is not threading.main_thread()


async def test_run_inline_says_what_to_use_where_a_loop_runs(app: Penstock) -> None:
    @app.job
    async def here() -> None: ...

    with pytest.raises(PenstockError, match=r"await arun_inline\("):
        run_inline(here)


def test_a_transaction_without_a_database_says_so(app: Penstock) -> None:
    @app.job
    def writes(ctx: SyncContext) -> None:
        with ctx.transaction():
            raise AssertionError("has a connection")

    @app.job
    async def writes_later(ctx: Context) -> None:
        async with ctx.transaction():
            raise AssertionError("has a connection")

    for handler in (writes, writes_later):
        with pytest.raises(PenstockError, match=r"ctx.transaction\(\) needs the app's database"):
            run_inline(handler)


Endings = Callable[[], Any]


def _raise() -> Any:
    raise OSError("afterwards")


@pytest.mark.parametrize(
    ("ending", "kept"), [(lambda: "done", 2), (lambda: Fail("no"), 0), (_raise, 0), (lambda: b"unfit", 0)]
)
@pytest.mark.parametrize("style", ["sync", "async"])
def test_a_transaction_is_committed_if_and_only_if_the_handler_succeeds(
    url: str, style: str, ending: Endings, kept: int
) -> None:
    with Penstock(url) as app, psycopg.connect(url, autocommit=True) as outside:
        outside.execute("create table written (n int)")
        handler: Handler[..., Any]
        if style == "sync":

            @app.job
            def write(ctx: SyncContext) -> Any:
                for n in range(2):
                    with ctx.transaction() as connection:
                        connection.execute("insert into written values (%s)", [n])
                assert outside.execute("select count(*) from written").fetchall() == [(0,)]
                return ending()

            handler = write
        else:

            @app.job
            async def write_async(ctx: Context) -> Any:
                for n in range(2):
                    async with ctx.transaction() as connection:
                        await connection.execute("insert into written values (%s)", [n])
                assert outside.execute("select count(*) from written").fetchall() == [(0,)]
                return ending()

            handler = write_async
        try:
            run_inline(handler)
        except (OSError, InvalidArguments):
            assert kept == 0
        assert outside.execute("select count(*) from written").fetchall() == [(kept,)]
