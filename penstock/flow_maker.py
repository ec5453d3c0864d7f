"""A function that composes a flow, made startable by a name, as @app.job makes a handler."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec

from penstock.arguments import Arguments
from penstock.engine.protocol import Engine
from penstock.flow import Flow
from penstock.handle import JobHandle
from penstock.job_options import Options

P = ParamSpec("P")


class FlowMaker(Generic[P]):
    """Call it to compose the flow; `enqueue` or `aenqueue` it to have it run."""

    def __init__(
        self, engine: Engine, function: Callable[P, Flow], kind: str, options: Options, max_payload: int
    ) -> None:
        self.kind = kind
        self.function = function
        self.options = options
        self.arguments = Arguments(function)
        self.__doc__ = function.__doc__
        self._engine = engine
        self._max_payload = max_payload

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Flow:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<FlowMaker {self.kind}>"

    def encode(self, args: Mapping[str, object]) -> bytes:
        """Arguments by name as JSON that the function will accept."""
        return self.arguments.encode((), args, self._max_payload)

    def make(self, args: Mapping[str, object]) -> Flow:
        """The flow for arguments by name, which are checked first."""
        positional, named = self.arguments.bind(self.encode(args).decode())
        compose: Callable[..., Flow] = self.function
        return compose(*positional, **named)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[Any]:
        [first, *_] = self._engine.enqueue(self.function(*args, **kwargs).jobs())
        return JobHandle(self._engine, first.id, first.created)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[Any]:
        [first, *_] = await self._engine.aenqueue(self.function(*args, **kwargs).jobs())
        return JobHandle(self._engine, first.id, first.created)
