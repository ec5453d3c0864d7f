"""Logic that asks an engine several things, written once for sync and async callers: a script is a generator that
yields each command, is sent what it gave, and returns the result. Two drivers run it to its end."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")

Script = Generator[Any, Any, T]


def run(ask: Callable[[Any], Any], script: Script[T]) -> T:
    """`ask` runs one command: `engine.run`, for instance, where each is committed by itself."""
    try:
        asked = next(script)
        while True:
            asked = script.send(ask(asked))
    except StopIteration as end:
        return cast(T, end.value)


async def arun(ask: Callable[[Any], Awaitable[Any]], script: Script[T]) -> T:
    try:
        asked = next(script)
        while True:
            asked = script.send(await ask(asked))
    except StopIteration as end:
        return cast(T, end.value)
