"""What a handler returned comes back as the type it is annotated with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel

from penstock import Penstock, Snooze
from tests.app.worker import Worker


@dataclass
class Page:
    number: int
    at: datetime


class Form(BaseModel):
    id: UUID
    page: int


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


class Box(TypedDict):
    width: int


class Custom:
    pass


SOME_ID = UUID(int=7)
MOMENT = datetime(2030, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 5),
        (float, 1.0),
        (str, "text"),
        (None, None),
        (list[int], [1]),
        (dict[str, int], {"a": 1}),
        (dict[int, str], {1: "a"}),
        (tuple[int, str], (1, "a")),
        (int | None, None),
        (Page, Page(1, MOMENT)),
        (list[Page], [Page(1, MOMENT)]),
        (Form, Form(id=SOME_ID, page=3)),
        (dict[str, Form], {"a": Form(id=SOME_ID, page=3)}),
        (UUID, SOME_ID),
        (datetime, MOMENT),
        (Path, Path("/tmp/a")),
        (list[Path], [Path("/tmp/a")]),
        (Colour, Colour.RED),
        (Point, Point(1, 2)),
        (Box, {"width": 3}),
        (str | Snooze, "text"),
        (dict[str, int] | Snooze, {"a": 1}),
        (Any, {"free": [1, None]}),
        (object, {"free": [1, None]}),
        (Sequence[int], [1, 2]),
        (Iterable[int], [1, 2]),
        (Custom, {"as": "stored"}),
        ("OnlyForTypeCheckers", {"as": "stored"}),
    ],
    ids=str,
)
def test_a_result_has_the_type_its_handler_promises(app: Penstock, kind: Any, value: object) -> None:
    def work() -> Any: ...

    work.__annotations__["return"] = kind
    handle = app.job(work).enqueue()
    Worker(app).run_all(output=value)
    result = handle.result(timeout=10)
    assert result == value
    assert type(result) is type(value)


def test_without_an_annotation_it_is_what_json_gives(app: Penstock) -> None:
    @app.job
    def work():  # type: ignore[no-untyped-def]
        ...

    handle = work.enqueue()
    Worker(app).run_all(output=Page(1, MOMENT))
    assert handle.result(timeout=10) == {"number": 1, "at": "2030-01-02T03:04:05.000678Z"}


def test_a_handle_by_id_or_of_a_prepared_job_gives_what_json_gives(app: Penstock) -> None:
    @app.job
    def work() -> Page:
        return Page(1, MOMENT)

    handle = app.enqueue(work.prepare())
    Worker(app).run_all(output=Page(1, MOMENT))
    assert handle.result(timeout=10) == app.handle(handle.id).result(timeout=10)
    assert handle.result(timeout=10)["number"] == 1


def test_an_async_handlers_result_is_what_it_returns_not_a_coroutine(app: Penstock) -> None:
    @app.job
    async def work() -> Page:
        return Page(1, MOMENT)

    handle = work.enqueue()
    Worker(app).run_all(output=Page(1, MOMENT))
    assert handle.result(timeout=10) == Page(1, MOMENT)
