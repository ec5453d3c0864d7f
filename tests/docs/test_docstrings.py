"""What `penstock` exports says what it is; each class shows how it is used, and what it shows runs."""

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import Penstock
from scripts.docs.reference import python

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXPORTED: dict[str, Any] = {name: getattr(penstock, name) for name in penstock.__all__}
NOWHERE = Penstock("postgresql://nowhere")
DRIVERS = {"engine", "home"}
"""Attributes that are no part of what we promise."""
PARTS = {
    f"app.{name}": type(value)
    for name, value in [*vars(NOWHERE).items(), ("operator", NOWHERE.operator("ada"))]
    if not name.startswith("_") and name not in DRIVERS and type(value).__module__.startswith("penstock.")
}
PUBLIC = EXPORTED | PARTS
SHOWN = [name for name, each in PUBLIC.items() if not (inspect.isclass(each) and issubclass(each, Exception | StrEnum))]
"""Errors say when they are raised; how to catch them is the same for all. A state is a word."""


def test_whatever_an_application_leads_to_is_in_the_reference() -> None:
    shown = "\n".join(text for _, text in python.pages())
    places = {name: f"::: {each.__module__}.{each.__qualname__}\n" for name, each in PARTS.items()}
    assert [name for name, place in places.items() if place not in shown] == []
    assert len(PARTS) == 11


def own_doc(each: Any) -> str:
    """Not what is inherited, nor what a dataclass makes up."""
    text = vars(each).get("__doc__") if inspect.isclass(each) else each.__doc__
    return "" if not text or re.match(rf"{getattr(each, '__name__', '')}\(.*\)\Z", text, re.DOTALL) else text


def public_methods(owner: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(owner).items():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


@pytest.mark.parametrize("name", PUBLIC)
def test_whatever_is_exported_says_what_it_is(name: str) -> None:
    assert own_doc(PUBLIC[name]), f"{name} has no docstring"
    methods = dict(public_methods(PUBLIC[name])) if inspect.isclass(PUBLIC[name]) else {}
    # what is said of `enqueue` goes for `aenqueue`
    silent = [
        each for each, it in methods.items() if not it.__doc__ and not getattr(methods.get(each[1:]), "__doc__", "")
    ]
    assert silent == [], f"methods of {name} without a docstring"


@pytest.mark.parametrize("name", SHOWN)
def test_the_example_of_a_class_runs(name: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = BLOCK.findall(inspect.cleandoc(own_doc(PUBLIC[name])))
    assert examples, f"{name} shows no example"
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.chdir(tmp_path)
    app = Penstock()

    @app.job
    def greet(name: str) -> str:
        return f"hello {name}"

    for example in examples:
        names = {**EXPORTED, "app": app, "greet": greet}
        code = compile(example, f"<example of {name}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        asyncio.run(run(code, names)) if code.co_flags & inspect.CO_COROUTINE else exec(code, names)
        names["app"].close()
    app.close()


async def run(code: Any, names: dict[str, Any]) -> None:
    await eval(code, names)
    await names["app"].aclose()
