"""run_inline of handlers that wait: events, answers and results are told, and sleeps take no time."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock import Approval, Cancel, Context, Fail, InvalidInput, Penstock, SyncContext
from penstock.errors import CallFailed, WaitTimeout
from penstock.outcome import Suspended
from penstock.testing import arun_inline, run_inline

START = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.fixture
def app() -> Penstock:
    return Penstock("postgresql://nobody@127.0.0.1:1/nothing")


def test_an_order_is_told_all_that_it_waits_for(app: Penstock) -> None:
    @app.job
    async def pack(order: int, at: datetime) -> str:
        return f"{order} at {at:%H}"

    @app.job
    async def sell(ctx: Context, order: int) -> list[object]:
        answer = await ctx.approve("Sell it?", timeout=60)
        paid = [await ctx.wait_for("paid", key=str(order)), await ctx.wait_for("paid")]
        await ctx.sleep(days=3)
        packed = await ctx.call(pack, order, await ctx.now())
        return [answer.by, *paid, packed, *await ctx.gather(pack.prepare(1, START), pack.prepare(2, START))]

    run = run_inline(
        sell, 7, now=START, answers={"Sell it?": Approval(True, "ada", START)},
        events={("paid", "7"): [{"amount": 1}], "paid": ["second"]},
    )  # fmt: skip
    assert run.output == ["ada", {"amount": 1}, "second", "7 at 00", "1 at 00", "2 at 00"]
    assert run.ended_at == START + timedelta(days=3)
    assert run_inline(sell, 7, answers={"Sell it?": True}).outcome == Suspended("wait for paid 7")
    with pytest.raises(WaitTimeout):
        run_inline(sell, 7)


def test_an_answer_comes_when_it_was_given(app: Penstock) -> None:
    @app.job
    async def ask(ctx: Context) -> list[datetime]:
        return [(await ctx.approve("Now?", timeout=3600)).at, await ctx.now()]

    def answered(at: datetime) -> list[datetime] | None:
        return run_inline(ask, now=START, answers={"Now?": Approval(True, "ada", at)}).output

    before, after = START - timedelta(days=1), START + timedelta(hours=1)
    assert (answered(before), answered(after)) == ([before, START], [after, after])
    with pytest.raises(WaitTimeout):
        answered(after + timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="at: needs a time zone"):
        answered(datetime(2026, 1, 31))


async def test_results_of_called_handlers_are_told_or_they_are_run(app: Penstock) -> None:
    @app.job
    def halve(n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n // 2

    @app.job
    def total(ctx: SyncContext, *, most: int) -> list[object]:
        ctx.sleep(hours=1)
        came = ctx.gather(*(halve.prepare(n) for n in range(most)), return_exceptions=True)
        return [each.error if isinstance(each, CallFailed) else each for each in came]

    assert (await arun_inline(total, most=3)).output == [0, "odd", 1]
    assert run_inline(total, most=2, results={"halve": 9}).output == [9, 9]
    assert run_inline(total, most=1, results={"halve": OSError("no disk")}).output == ["no disk"]
    with pytest.raises(InvalidInput, match="now"):
        run_inline(total, most=1, now=datetime(2026, 1, 1))


def test_the_clock_is_a_time_and_never_goes_back(app: Penstock) -> None:
    @app.job
    async def wait(ctx: Context) -> list[bool]:
        later = await ctx.now() + timedelta(days=1)
        await ctx.sleep(until=later)
        await ctx.sleep(until=START)
        return [await ctx.now() == later]

    @app.job
    def wait_in_thread(ctx: SyncContext) -> list[bool]:
        later = ctx.now() + timedelta(days=1)
        ctx.sleep(until=later)
        ctx.sleep(until=START)
        return [ctx.now() == later]

    for handler in (wait, wait_in_thread):
        run = run_inline(handler, now=START)
        assert (run.output, run.ended_at) == ([True], START + timedelta(days=1))


def test_called_handlers_run_beside_each_other_also_those_that_fail(app: Penstock) -> None:
    @app.job
    async def nap(ctx: Context, hours: int) -> None:
        await ctx.sleep(hours=hours)
        if hours == 5:
            raise ValueError(hours)

    @app.job
    async def wait(ctx: Context) -> datetime:
        await ctx.gather(*(nap.prepare(hours) for hours in (1, 5, 2)), return_exceptions=True)
        return await ctx.now()

    @app.job
    def wait_in_thread(ctx: SyncContext) -> datetime:
        ctx.gather(*(nap.prepare(hours) for hours in (1, 5, 2)), return_exceptions=True)
        return ctx.now()

    for handler in (wait, wait_in_thread):
        assert run_inline(handler, now=START).output == START + timedelta(hours=5)


def test_what_is_told_wrongly_is_refused_by_its_name(app: Penstock) -> None:
    @app.job
    async def ask(ctx: Context) -> object:
        return [await ctx.wait_for("paid"), bool(await ctx.approve("Ok?"))]

    for wrong in ({"amount": 1}, "abc", 5):
        with pytest.raises(InvalidInput, match="events: 'paid' must have a list of payloads"):
            run_inline(ask, events={"paid": wrong})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="events: a object has no JSON form"):
        run_inline(ask, events={"paid": [object()]})
    with pytest.raises(InvalidInput, match=r"answers: 'Ok\?' must be True, False or an Approval, not 'yes'"):
        run_inline(ask, answers={"Ok?": "yes"})  # type: ignore[dict-item]


@pytest.mark.parametrize("ending", [Cancel("not needed"), Fail("refused"), ValueError("odd")])
def test_a_called_handler_may_be_told_to_end_in_each_way(app: Penstock, ending: BaseException) -> None:
    @app.job
    def end() -> int:
        return 1

    @app.job
    async def ask(ctx: Context) -> list[str | None]:
        with pytest.raises(CallFailed) as failed:
            await ctx.call(end)
        return [failed.value.state, failed.value.error]

    state = "cancelled" if isinstance(ending, Cancel) else "failed"
    assert run_inline(ask, results={"end": ending}).output == [state, str(ending)]


@pytest.mark.parametrize("ending", [Cancel("not needed"), Fail("refused"), ValueError("odd")])
def test_what_became_of_a_called_job_is_told_as_a_worker_would(url: str, ending: BaseException) -> None:
    with Penstock(url) as app:

        @app.job(max_attempts=1)
        def end() -> None:
            raise ending

        @app.job
        def ask(ctx: SyncContext) -> list[str | None]:
            with pytest.raises(CallFailed) as failed:
                ctx.call(end)
            return [failed.value.state, failed.value.error, failed.value.type]

        inline = run_inline(ask).output
        handle = ask.enqueue()
        while app.tick():
            pass
        assert handle.result(timeout=5) == inline


def test_a_callback_has_an_address_where_no_server_is(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PENSTOCK_PUBLIC_URL", "PENSTOCK_SIGNING_SECRET", "PENSTOCK_SERVICE_KEY"):
        monkeypatch.delenv(variable, raising=False)

    @app.job
    async def collect(ctx: Context) -> list[object]:
        return [ctx.callback_url("paid"), await ctx.wait_for("paid", key=str(ctx.id))]

    @app.job
    def collect_in_thread(ctx: SyncContext) -> list[object]:
        return [ctx.callback_url("paid"), ctx.wait_for("paid", key=str(ctx.id))]

    for handler in (collect, collect_in_thread):
        run = run_inline(handler, events={"paid": [{"amount": 1}]})
        assert run.output is not None
        url, paid = run.output
        assert str(url).startswith("https://penstock.invalid/api/callbacks/")
        assert paid == {"amount": 1}


def test_who_is_called_has_the_owner_of_its_caller_and_may_ask_them(app: Penstock) -> None:
    @app.job
    def ask(ctx: SyncContext) -> list[object]:
        return [ctx.owner, ctx.approve("Yours?", by="owner").approved]

    @app.job
    async def call(ctx: Context) -> list[list[object]]:
        return await ctx.gather(ask.prepare(), ask.using(owner="bob").prepare())

    run = run_inline(call.using(owner="ada"), answers={"Yours?": True})
    assert run.output == [["ada", True], ["bob", True]]


def test_a_called_job_is_its_callers_alone_and_takes_no_idempotency_key(app: Penstock) -> None:
    @app.job
    async def double(n: int) -> int:
        return 2 * n

    @app.job
    async def call(ctx: Context, *, key: str | None) -> list[int]:
        return await ctx.gather(double.prepare(1), double.using(idempotency_key=key).prepare(1))

    assert run_inline(call, key=None).output == [2, 2]
    with pytest.raises(InvalidInput, match="idempotency_key: a job that is called is its caller's alone"):
        run_inline(call, key="order-7")
