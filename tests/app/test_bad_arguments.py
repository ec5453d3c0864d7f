"""Bad arguments get a named error and nothing is written, whichever way they come."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock import (
    Flow,
    Handler,
    InvalidArguments,
    InvalidInput,
    PayloadTooLarge,
    Penstock,
    UnknownKind,
)


@dataclass
class Letter:
    weight: float


@dataclass
class Desk:
    """An application with one handler, and how many jobs there are."""

    app: Penstock
    send: Handler[..., None]
    count: Callable[[], int]


@pytest.fixture(scope="module")
def desk(url_of_module: str) -> Iterator[Desk]:
    with Penstock(url_of_module) as app, psycopg.connect(url_of_module, autocommit=True) as connection:

        @app.job
        def send(to: str, body: Any = None, at: datetime | None = None) -> None: ...

        yield Desk(app, send, lambda: connection.execute("select count(*) from penstock.all_jobs").fetchall()[0][0])


endless: list[object] = []
endless.append(endless)

BAD: list[Any] = [
    pytest.param({"body": "Dear Ada, " * 30_000}, PayloadTooLarge, "args: 3.* bytes of JSON, over", id="oversize"),
    pytest.param({"body": "QUJD" * 5_000}, PayloadTooLarge, "body: looks like an encoded file", id="base64"),
    pytest.param({"body": ["data:image/png," + "x" * 20_000]}, PayloadTooLarge, r"body\[0\]: looks like", id="data:"),
    pytest.param({"body": "a\0b"}, InvalidArguments, "body: contains a NUL", id="NUL"),
    pytest.param({"body": {"a\0b": 1}}, InvalidArguments, "body .a key.: contains a NUL", id="NUL in a key"),
    pytest.param({"body": math.nan}, InvalidArguments, "body: nan has no JSON form", id="NaN"),
    pytest.param({"body": [{"x": math.inf}]}, InvalidArguments, r"body\[0\].x: inf has no", id="Infinity, nested"),
    pytest.param({"body": Letter(math.nan)}, InvalidArguments, "body.weight: nan", id="NaN in a dataclass"),
    pytest.param({"at": datetime(2030, 1, 1)}, InvalidArguments, "at: is a datetime without a time zone", id="naive"),
    pytest.param({"body": [datetime(2030, 1, 1)]}, InvalidArguments, r"body\[0\]: is a datetime", id="naive, nested"),
    pytest.param({"body": {"pdf": b"%PDF"}}, InvalidArguments, "body.pdf: is bytes; store them as an", id="bytes"),
    pytest.param({"body": ["\ud800"]}, InvalidArguments, r"body\[0\]: .*surrogates not allowed", id="surrogate"),
    pytest.param({"body": endless}, InvalidArguments, "body: is nested too deeply", id="endless"),
    pytest.param({"body": 10**5000}, InvalidArguments, "body: .*digits", id="endless number"),
    pytest.param({"body": {1, object()}}, InvalidArguments, "body: a object has no JSON form", id="object"),
    pytest.param({"to": 5}, InvalidArguments, "to: Expected `str`, got `int`", id="wrong type"),
    pytest.param({"boddy": 5}, InvalidArguments, r"boddy: .*did you mean 'body'\?", id="unknown"),
]

Way = Callable[[Desk, dict[str, Any]], object]
AsyncWay = Callable[[Desk, dict[str, Any]], Awaitable[object]]
FINE = {"to": "ada"}


def in_a_flow(desk: Desk, args: dict[str, Any]) -> object:
    flow = Flow()
    flow.add(desk.send.prepare(**FINE))
    flow.add(desk.send.prepare(**args))
    return desk.app.enqueue(flow)


WAYS: dict[str, Way] = {
    "enqueue": lambda desk, args: desk.send.enqueue(**args),
    "bulk by JSON": lambda desk, args: desk.send.enqueue_many([FINE, args]),
    "bulk by COPY": lambda desk, args: desk.send.enqueue_many([FINE] * 25 + [args]),
    "by the name of its kind": lambda desk, args: desk.app.enqueue(desk.app.prepare("send", args)),
    "in a flow": in_a_flow,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("args", "error", "match"), BAD)
def test_bad_arguments_are_refused_by_name_and_nothing_is_written(
    desk: Desk, way: str, args: dict[str, Any], error: type[InvalidInput], match: str
) -> None:
    with pytest.raises(error, match=f"^{match}"):
        WAYS[way](desk, FINE | args)
    assert desk.count() == 0


@pytest.mark.parametrize(("args", "error", "match"), BAD)
async def test_the_same_holds_in_async_code(
    desk: Desk, args: dict[str, Any], error: type[InvalidInput], match: str
) -> None:
    with pytest.raises(error, match=f"^{match}"):
        await desk.send.aenqueue(**FINE | args)
    with pytest.raises(error, match=f"^{match}"):
        await desk.send.aenqueue_many([FINE] * 25 + [FINE | args])
    assert desk.count() == 0
    await desk.app.engine.aclose()


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_argument_is_refused_by_name_and_nothing_is_written(desk: Desk, way: str) -> None:
    with pytest.raises(InvalidArguments, match=r"^to: is missing$"):
        WAYS[way](desk, {"body": "Dear Ada"})
    assert desk.count() == 0


def test_an_unknown_kind_is_refused_with_the_one_that_was_meant(desk: Desk) -> None:
    stray = Penstock("postgresql://nowhere").job(kind="sned")(lambda to: None)
    for enqueue in (
        lambda: desk.app.enqueue(desk.app.prepare("sned", FINE)),
        lambda: desk.app.enqueue(stray.prepare("ada")),
        lambda: desk.app.enqueue_many([desk.send.prepare("ada"), stray.prepare("ada")]),
    ):
        with pytest.raises(UnknownKind, match=r"^no handler 'sned' is registered \(did you mean 'send'\?\)$"):
            enqueue()
    with pytest.raises(UnknownKind, match=r"^no handler 'zzz' is registered$"):
        desk.app.prepare("zzz", {})
    assert desk.count() == 0


WRONG_TYPES: list[tuple[str, Callable[[Penstock], object]]] = [
    ("id", lambda app: app.jobs.get(7)),  # type: ignore[arg-type]
    ("id", lambda app: app.jobs.get("7")),  # type: ignore[arg-type]
    ("reason", lambda app: app.handle(UUID(int=7)).cancel(7)),  # type: ignore[arg-type]
    ("name", lambda app: app.queues.pause(7)),  # type: ignore[arg-type]
    ("name", lambda app: app.operator("ada").remove_schedule(7)),  # type: ignore[arg-type]
    ("comment", lambda app: app.operator("ada").approve(UUID(int=7), comment=7)),  # type: ignore[arg-type]
    ("queue", lambda app: asyncio.run(app.jobs.aretry(UUID(int=7), queue=7))),  # type: ignore[arg-type]
]


def test_what_is_of_another_type_is_refused_by_its_name_not_told_to_migrate(desk: Desk) -> None:
    for field, ask in WRONG_TYPES:
        with pytest.raises(InvalidInput) as refused:
            ask(desk.app)
        assert refused.value.field == field


@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_a_text_that_cannot_be_stored_is_refused_by_its_name(desk: Desk, text: str) -> None:
    asked: list[tuple[str, Callable[[Penstock], object]]] = [
        ("comment", lambda app: app.operator("ada").approve(UUID(int=7), comment=text)),
        ("step", lambda app: app.operator("ada").approve(UUID(int=7), step=text)),
        ("reason", lambda app: app.handle(UUID(int=7)).cancel(text)),
        ("name", lambda app: app.queues.pause(text)),
        ("queue", lambda app: asyncio.run(app.jobs.aretry(UUID(int=7), queue=text))),
    ]
    for field, ask in asked:
        with pytest.raises(InvalidInput, match="contains NUL or a lone surrogate") as refused:
            ask(desk.app)
        assert refused.value.field == field
