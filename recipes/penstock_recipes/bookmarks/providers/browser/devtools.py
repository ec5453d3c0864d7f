"""Chromium's DevTools protocol, over its pipes: calls with their answers, and events."""

import asyncio
import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Members = Mapping[str, Json]
Listener = Callable[[Members], None]


class Gone(Exception):
    """The browser, or its page, is no more."""


class CallFailed(Exception):
    """The browser answered a call with an error."""


class DevTools:
    """A browser on the other end. What is awaited when it goes away raises Gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = 0
        self._waiting: dict[int, asyncio.Future[Members]] = {}
        self._listeners: dict[str, Listener] = {}
        self._ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> "DevTools":
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.cancel()
        self.end(Gone("closed"))
        self._ended.exception()
        self._writer.close()

    def on(self, event: str, listener: Listener) -> None:
        self._listeners[event] = listener

    def send(self, method: str, session: str | None = None, **params: Json) -> int:
        """A call whose answer nobody waits for."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._writer.write(json.dumps(message).encode() + b"\0")
        return self._last

    async def call(self, method: str, session: str | None = None, **params: Json) -> Members:
        self._raise_if_ended()
        answer: asyncio.Future[Members] = asyncio.get_running_loop().create_future()
        number = self.send(method, session, **params)
        self._waiting[number] = answer
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def until(self, event: asyncio.Event, seconds: float) -> bool:
        """Whether the event came in time."""
        waiting = asyncio.ensure_future(event.wait())
        either: set[asyncio.Future[Any]] = {waiting, self._ended}
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        self._raise_if_ended()
        return event.is_set()

    def end(self, why: Exception) -> None:
        """From here on, whoever waits or calls gets this error."""
        if self._ended.done():
            return
        self._ended.set_exception(why)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(why)

    def _raise_if_ended(self) -> None:
        if self._ended.done():
            self._ended.result()

    async def _read(self) -> None:
        try:
            while True:
                self._take(json.loads((await self._reader.readuntil(b"\0"))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            self.end(Gone("the browser has ended"))

    def _take(self, message: Members) -> None:
        number = message.get("id")
        if isinstance(number, int):
            answer = self._waiting.get(number)
            if answer is None or answer.done():
                return
            if "error" in message:
                answer.set_exception(CallFailed(str(members(message, "error").get("message"))))
            else:
                answer.set_result(members(message, "result"))
            return
        listener = self._listeners.get(text(message, "method"))
        if listener is not None:
            listener(members(message, "params"))


def members(of: Members, name: str) -> Members:
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def text(of: Members, name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""
