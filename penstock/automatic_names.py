"""Names of what a handler takes without giving it one: what it is, and the how manieth time. Each step counts for
itself, and anew when it is run: one that is remembered is not run, and what it took would be missing from a count that
goes on after it."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ParamSpec, TypeVar

from penstock.errors import PenstockError

P = ParamSpec("P")
R = TypeVar("R")

_LONGEST = 500
"""Characters of a step's name."""


@dataclass(frozen=True, slots=True)
class _Strand:
    """A task, or a thread outside of any: what one does is in an order, and what two do is not."""

    task: asyncio.Task[Any] | None
    thread: int

    @classmethod
    def here(cls) -> "_Strand":
        return cls(_task_here(), threading.get_ident())

    def is_here(self) -> bool:
        return self.thread == threading.get_ident() and (self.task is None or self.task is _task_here())


@dataclass(slots=True, eq=False)
class _Scope:
    """The handler, or a step while it is run."""

    names: "AutomaticNames"
    step: str | None = None
    strands: list[_Strand] = field(default_factory=list)
    """Whose it is; with none nobody has said."""
    times: Counter[str] = field(default_factory=Counter)
    inside: set[str] = field(default_factory=set)
    """The steps that were taken within it."""


_under_way: ContextVar[_Scope | None] = ContextVar("penstock_step", default=None)


class AutomaticNames:
    """Of one run."""

    def __init__(self) -> None:
        self._handler = _Scope(self)

    def of(self, label: str) -> str:
        scope = self._scope()
        scope.times[label] += 1
        times = scope.times[label]
        name = label if times == 1 else f"{label} {times}"
        return name if scope.step is None else _bounded(f"{scope.step}: {name}")

    def in_order(self, label: str) -> str:
        """Of what may be taken wherever the order is the same in every run, and is refused elsewhere."""
        if not self.are_asked_in_order():
            raise PenstockError(
                f"{label.partition(' ')[0]}() is told apart from others of its kind by its order, which in a task or a "
                "thread beside others is nobody's choice: call it before, in the handler or in the step itself, and "
                "pass on what it gives; or within a ctx.step of the task's own"
            )
        return self.of(label)

    def step_here(self) -> str | None:
        """The step that this is done in, or in a task or a thread that asyncio started in it."""
        return self._scope().step

    def are_asked_in_order(self) -> bool:
        strands = self._scope().strands
        return not strands or any(strand.is_here() for strand in strands)

    @contextmanager
    def of_handler(self) -> Iterator[None]:
        """Around the handler, in the task or the thread that runs it."""
        self._handler.strands = [_Strand.here()]
        try:
            yield
        finally:
            self._handler.strands = []

    @contextmanager
    def of_step(self, name: str) -> Iterator[set[str]]:
        """Around a step; gives what will be the steps that are taken within it. Tasks and threads that asyncio starts
        there know whose they are, too."""
        outer, scope = self._scope(), _Scope(self, name, [_Strand.here()])
        token = _under_way.set(scope)
        try:
            yield scope.inside
        finally:
            outer.inside |= {name, *scope.inside}
            # one that was never ended is collected anywhere
            with suppress(ValueError):
                _under_way.reset(token)

    def _scope(self) -> _Scope:
        scope = _under_way.get()
        # what another job's step runs here is not of that step
        return self._handler if scope is None or scope.names is not self else scope


def in_own_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls the function of a step in the thread that was started for it."""
    scope = _under_way.get()
    assert scope is not None
    strand = _Strand.here()
    scope.strands.append(strand)
    try:
        return function(*args, **kwargs)
    finally:
        scope.strands.remove(strand)


def _task_here() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _bounded(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"{name[: _LONGEST - 1 - len(digest)]} {digest}"
