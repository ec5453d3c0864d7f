"""What a handler takes, by its signature."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Context, InvalidArguments, InvalidInput, JobContext, SyncContext
from penstock.arguments import Arguments
from penstock.json import loads


class RicherContext(Context):
    pass


async def annotated(ctx: Context, page: int) -> None: ...
async def annotated_by_another_name(context: Context, page: int) -> None: ...
async def annotated_by_a_subclass(context: RicherContext, page: int) -> None: ...
async def annotated_as_text(ctx: "Context", page: int) -> None: ...
def named_only(ctx, page: int) -> None: ...  # type: ignore[no-untyped-def]
def unknown_to_python(ctx: "Context", page: "OnlyForTypeCheckers") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def sync(ctx: SyncContext, page: int) -> None: ...
def either(ctx: JobContext, page: int) -> None: ...


def without(page: int) -> None: ...
def of_the_name_but_another_type(ctx: str, page: int) -> None: ...
def not_the_first(page: int, ctx: Context | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "takes_context"),
    [
        (annotated, True),
        (annotated_by_another_name, True),
        (annotated_by_a_subclass, True),
        (annotated_as_text, True),
        (sync, True),
        (either, True),
        (named_only, True),
        (unknown_to_python, True),
        (without, False),
        (of_the_name_but_another_type, False),
        (not_the_first, False),
    ],
)
def test_a_first_parameter_that_is_a_context_is_no_argument(function: Callable[..., Any], takes_context: bool) -> None:
    arguments = Arguments(function)
    assert arguments.takes_context is takes_context
    assert "page" in arguments.names
    assert not takes_context or arguments.names == ("page",)


def sync_with_the_async_one(ctx: Context) -> None: ...
async def async_with_the_sync_one(ctx: SyncContext) -> None: ...


@pytest.mark.parametrize(
    ("function", "fitting"), [(sync_with_the_async_one, "SyncContext"), (async_with_the_sync_one, "Context")]
)
def test_a_context_of_the_other_sort_is_refused_where_it_is_written(function: Callable[..., Any], fitting: str) -> None:
    with pytest.raises(InvalidInput, match=f"ctx: an? a?sync handler takes a {fitting}:"):
        Arguments(function)


def export(document: str, pages: int = 1, *, title: str | None = None) -> None: ...


def encode(*args: object, **kwargs: object) -> Any:
    return loads(Arguments(export).encode(args, kwargs, 1000))


def test_arguments_go_by_place_and_by_name() -> None:
    assert encode("d1") == {"document": "d1"}
    assert encode("d1", 3) == encode(pages=3, document="d1") == {"document": "d1", "pages": 3}
    assert encode("d1", title="T") == {"document": "d1", "title": "T"}


def test_a_default_is_not_stored_so_that_the_handler_may_change_it() -> None:
    arguments = Arguments(export)
    assert arguments.bind(arguments.encode(("d1",), {}, 1000).decode()) == ([], {"document": "d1"})


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "problem"),
    [
        ((), {}, "document", "is missing"),
        ((), {"document": 5}, "document", "Expected `str`, got `int`"),
        (("d1",), {"pages": "many"}, "pages", "Expected `int`, got `str`"),
        (("d1",), {"title": 5}, "title", "Expected `str | null`, got `int`"),
        (("d1",), {"pags": 3}, "pags", "is no argument of this handler (did you mean 'pages'?)"),
        (("d1",), {"zzz": 3}, "zzz", "is no argument of this handler; it takes document, pages, title"),
        (("d1", 3, "T"), {}, "args", "takes 2 by position, got 3"),
        (("d1",), {"document": "d2"}, "document", "is given twice"),
    ],
)
def test_what_does_not_fit_the_signature_is_refused_by_name(
    args: tuple[object, ...], kwargs: dict[str, object], field: str, problem: str
) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        encode(*args, **kwargs)
    assert (refusal.value.field, refusal.value.problem) == (field, problem)


def test_a_refusal_deep_inside_an_argument_names_the_path() -> None:
    def index(pages: list[dict[str, int]]) -> None: ...

    with pytest.raises(InvalidArguments) as refusal:
        Arguments(index).encode(([{"one": 1}, {"two": "2"}],), {}, 1000)
    assert refusal.value.field == "pages[1][...]"


def test_a_handler_with_open_keywords_takes_any_name_but_still_checks_its_own() -> None:
    def track(event: str, **properties: object) -> None: ...

    arguments = Arguments(track)
    assert loads(arguments.encode(("click",), {"x": 1, "y": [2]}, 1000)) == {"event": "click", "x": 1, "y": [2]}
    with pytest.raises(InvalidArguments, match=r"^event: Expected `str`"):
        arguments.encode((5,), {}, 1000)


def test_a_handler_with_open_positions_is_refused_when_it_is_made() -> None:
    def add(*numbers: int) -> None: ...

    with pytest.raises(InvalidInput, match=r"^numbers: \*numbers cannot be stored by name; .* a list instead$"):
        Arguments(add)


def test_a_type_known_to_type_checkers_only_takes_values_as_they_come() -> None:
    assert Arguments(unknown_to_python).encode((), {"page": {"any": 1}}, 1000) == b'{"page":{"any":1}}'
    with pytest.raises(InvalidArguments, match=r"^paeg: .*did you mean 'page'"):
        Arguments(unknown_to_python).encode((), {"paeg": 1}, 1000)
