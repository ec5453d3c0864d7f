"""Arguments arrive at the handler as the types it asked for."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel

from penstock import InvalidArguments
from penstock.arguments import Arguments


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Kind(StrEnum):
    PDF = "pdf"


@dataclass
class Margin:
    inches: float
    sides: list[str] = field(default_factory=list)


class Sheet(msgspec.Struct):
    size: str
    margin: Margin


class Form(BaseModel):
    at: datetime
    owner: UUID
    path: Path


class Point(NamedTuple):
    x: int
    y: int


class Box(TypedDict):
    width: int


SOME_ID = UUID(int=7)
MOMENT = datetime(2030, 5, 4, 3, 2, 1, 987654, tzinfo=timezone(timedelta(hours=5, minutes=30)))

SAMPLES: list[tuple[Any, object]] = [
    (int, 5),
    (float, 0.1),
    (str, "\\ \t\n\r\"' ü 🎈"),
    (bool, True),
    (list[int], [1, 2]),
    (dict[str, float], {"a": 1.5}),
    (dict[int, str], {1: "one"}),
    (tuple[int, str], (1, "a")),
    (set[int], {1, 2}),
    (int | None, None),
    (Literal["a", "b"], "b"),
    (UUID, SOME_ID),
    (datetime, MOMENT),
    (date, date(2030, 1, 2)),
    (timedelta, timedelta(minutes=5)),
    (Decimal, Decimal("1.10")),
    (Path, Path("/tmp/a b")),
    (PurePosixPath, PurePosixPath("x")),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (Kind, Kind.PDF),
    (Margin, Margin(0.5, ["left"])),
    (list[Margin], [Margin(1), Margin(2)]),
    (Sheet, Sheet("A4", Margin(0.5))),
    (Form, Form(at=MOMENT, owner=SOME_ID, path=Path("a"))),
    (dict[str, Form], {"f": Form(at=MOMENT, owner=SOME_ID, path=Path("a"))}),
    (Point, Point(1, 2)),
    (Box, {"width": 3}),
    (Any, {"free": [1, "form", None]}),
    (object, {"free": [1, "form", None]}),
    (dict[str, object], {"free": [1, "form", None]}),
]


def handler_of(kind: Any) -> Arguments:
    def handle(value: Any) -> None: ...

    handle.__annotations__["value"] = kind
    return Arguments(handle)


@pytest.mark.parametrize(("kind", "value"), SAMPLES, ids=lambda sample: str(sample)[:30])
def test_an_argument_arrives_as_the_type_the_handler_asked_for(kind: Any, value: object) -> None:
    arguments = handler_of(kind)
    [], bound = arguments.bind(arguments.encode((value,), {}, 10_000).decode())
    arrived = bound["value"]
    assert arrived == value
    assert type(arrived) is type(value)


def test_the_moment_is_kept_to_the_microsecond_wherever_it_was() -> None:
    arguments = handler_of(datetime)
    [], bound = arguments.bind(arguments.encode((MOMENT,), {}, 1000).decode())
    arrived = bound["value"]
    assert arrived == MOMENT.astimezone(UTC)


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        (UUID, "not a uuid", "value"),
        (datetime, "yesterday", "value"),
        (Colour, "blue", "value"),
        (Literal["a", "b"], "c", "value"),
        (Margin, {"sides": []}, "value"),
        (Margin, {"inches": "wide"}, "value.inches"),
        (list[Margin], [{"inches": 1}, {"inches": None}], "value[1].inches"),
        (Form, {"at": "never"}, "value"),
        (list[Form], [{}], "value[0]"),
    ],
)
def test_a_value_of_another_shape_is_refused_by_its_path(kind: Any, value: object, field: str) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        handler_of(kind).encode((value,), {}, 1000)
    assert refusal.value.field == field


def test_what_an_annotation_adds_to_a_type_is_checked_too() -> None:
    def handle(copies: Annotated[int, msgspec.Meta(ge=1, le=10)]) -> None: ...

    arguments = Arguments(handle)
    assert arguments.encode((), {"copies": 10}, 1000) == b'{"copies":10}'
    with pytest.raises(InvalidArguments, match=r"^copies: "):
        arguments.encode((), {"copies": 11}, 1000)

    def handle_many(copies: Annotated[list[int], "of each job"]) -> None: ...

    assert Arguments(handle_many, batch=True).encode((), {"copies": 3}, 1000) == b'{"copies":3}'


def test_a_pydantic_models_own_words_are_passed_on() -> None:
    with pytest.raises(InvalidArguments, match=r"(?s)owner.*Input should be a valid UUID"):
        handler_of(Form).encode(({"at": "2030-01-01T00:00:00Z", "owner": "x", "path": "a"},), {}, 1000)


def test_a_class_that_json_cannot_carry_is_refused_with_what_to_use_instead() -> None:
    class Custom: ...

    arguments = handler_of(Custom)
    with pytest.raises(InvalidArguments, match=r"^value: a Custom has no JSON form$"):
        arguments.encode((Custom(),), {}, 1000)
    with pytest.raises(InvalidArguments, match=r"use a dataclass, a msgspec\.Struct or a pydantic model"):
        arguments.encode(({},), {}, 1000)
