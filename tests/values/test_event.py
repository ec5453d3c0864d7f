"""What no event or step can be called, and no wait take, is refused in words to whoever emits and to whoever waits:
nobody waits for what never comes."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest

from penstock import Context, InvalidInput, Penstock, SyncContext
from penstock.event import checked_event, checked_key
from penstock.testing import run_inline

NAN = float("nan")
LONG = "ж" * 251
EVENTS: list[Any] = ["", LONG, "a\0", "\ud800", 7, None, b"paid", "penstock.approval"]
KEYS: list[Any] = [LONG, "a\0", "\ud800", None, True, 1.5, b"7"]
SECONDS: list[Any] = [-1, NAN, 1e30, "60", True]
NAMES: list[Any] = ["s" * 501, "a\0", "penstock.x", 7]

WAITS: list[tuple[str, Callable[[Any], Any]]] = [
    *(("event", lambda ctx, wrong=wrong: ctx.wait_for(wrong)) for wrong in EVENTS),
    *(("key", lambda ctx, wrong=wrong: ctx.wait_for("paid", key=wrong)) for wrong in KEYS),
    *(("timeout", lambda ctx, wrong=wrong: ctx.wait_for("paid", timeout=wrong)) for wrong in SECONDS),
    *(("timeout", lambda ctx, wrong=wrong: ctx.approve("Ship it?", timeout=wrong)) for wrong in SECONDS),
    *(("name", lambda ctx, wrong=wrong: ctx.wait_for("paid", name=wrong)) for wrong in NAMES),
    *(("name", lambda ctx, wrong=wrong: ctx.step(wrong, str, 1)) for wrong in ["", *NAMES]),
    *(("event", lambda ctx, wrong=wrong: ctx.callback_url(wrong)) for wrong in EVENTS),
]
EMITS: list[tuple[str, dict[str, Any]]] = [
    *(("event", {"event": wrong}) for wrong in EVENTS),
    *(("key", {"event": "paid", "key": wrong}) for wrong in KEYS),
    *(("keep", {"event": "paid", "keep": wrong}) for wrong in SECONDS),
]


@pytest.fixture(scope="module")
def app() -> Penstock:
    """What is refused here is refused before anybody is asked."""
    return Penstock("postgresql://nobody@penstock.invalid/none")


def test_what_cannot_be_waited_for_is_refused_by_its_field(app: Penstock) -> None:
    def wait(ctx: SyncContext) -> None:
        for field, ask in WAITS:
            with pytest.raises(InvalidInput) as refused:
                ask(ctx)
            assert refused.value.field == field

    async def await_(ctx: Context) -> None:
        for field, ask in WAITS:
            with pytest.raises(InvalidInput) as refused:
                await _asked(ask, ctx)
            assert refused.value.field == field

    for handler in (wait, await_):
        assert run_inline(app.job(handler)).steps == {}


async def _asked(ask: Callable[[Any], Any], ctx: Context) -> None:
    await ask(ctx)


def test_what_nobody_could_wait_for_is_not_emitted(app: Penstock) -> None:
    for field, wrong in EMITS:
        for emit in (app.emit, lambda **wrong: asyncio.run(app.aemit(**wrong))):
            with pytest.raises(InvalidInput) as refused:
                emit(**wrong)
            assert refused.value.field == field


class Happened(StrEnum):
    PAID = "paid"


def test_a_key_is_a_text_a_number_or_a_uuid_and_an_event_a_name(app: Penstock) -> None:
    id = UUID(int=7)
    assert [checked_key(each) for each in ("", "7", 7, id)] == ["", "7", "7", str(id)]
    assert [type(checked_event(each)) for each in ("e" * 500, Happened.PAID)] == [str, str]

    @app.job
    def collect(ctx: SyncContext) -> list[object]:
        return [ctx.wait_for(Happened.PAID, key=7), ctx.wait_for("paid", key=id)]

    assert run_inline(collect, events={("paid", "7"): [1], ("paid", id): [2]}).output == [1, 2]
