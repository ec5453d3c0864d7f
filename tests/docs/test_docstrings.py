"""What `penstock` exports says what it is; each class shows how it is used, and what it shows runs."""

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
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
OTHERS: dict[str, Any] = {
    f"{module}.{name}": each
    for module in ("logs", "outbound", "sandbox", "server", "storage", "testing")
    for name, each in vars(import_module(f"penstock.{module}")).items()
    if name in getattr(import_module(f"penstock.{module}"), "__all__", ("ForPeople", "JSONLines"))
    if inspect.isclass(each) or inspect.isfunction(each)
    if each not in [*EXPORTED.values(), *PARTS.values()]
}
GUIDED = {"logs", "server"} | {
    "outbound.Fetched", "outbound.GuardedTransport", "outbound.GuardingProxy", "outbound.fetch",
    "outbound.guarded_client", "outbound.networks", "sandbox.Answer", "sandbox.Process", "sandbox.call",
    "sandbox.random_account", "sandbox.started", "sandbox.work_folder", "storage.ArtifactsOfJob", "storage.Found",
    "storage.Keeper", "storage.Opened", "storage.PutChoices", "storage.Storage", "storage.Swept",
    "storage.SyncArtifactsOfJob", "storage.Written", "storage.store_at", "testing.InlineRun", "testing.adrain",
    "testing.arun_inline",
}  # fmt: skip
"""Shown by a guide, by what takes or gives them, or by their twin."""
PUBLIC = EXPORTED | PARTS | OTHERS
SHOWN = [
    name
    for name, each in PUBLIC.items()
    if not (inspect.isclass(each) and issubclass(each, Exception | StrEnum))
    and not ({name, name.partition(".")[0]} & GUIDED and name != "server.ServerSettings")
]
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
    # what is said of `enqueue` goes for `aenqueue`
    assert own_doc(PUBLIC[name]) or name.replace(".a", ".") in SHOWN, f"{name} has no docstring"
    methods = dict(public_methods(PUBLIC[name])) if inspect.isclass(PUBLIC[name]) else {}
    silent = [
        each
        for each, it in methods.items()
        if not it.__doc__
        and not getattr(methods.get(each[1:]), "__doc__", "")
        and not _of_a_library(PUBLIC[name], each)
    ]
    assert silent == [], f"methods of {name} without a docstring"


def test_what_is_left_to_guides_is_there_and_shows_nothing_itself() -> None:
    left = GUIDED - {"logs", "server"}
    assert [name for name in left if BLOCK.search(inspect.cleandoc(own_doc(OTHERS[name])))] == []


def _of_a_library(owner: type, method: str) -> bool:
    """Such a method is called by that library, and is what it says of its own."""
    return any(hasattr(base, method) and not base.__module__.startswith("penstock") for base in owner.__mro__)


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
