"""The engine over HTTP: runs the commands that a worker gives, through the API and with the service key."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast
from urllib.parse import urlsplit
from uuid import UUID
from weakref import WeakKeyDictionary

import msgspec

from penstock.engine.commands import Claim, CompleteAndEnqueue, ExtendLease
from penstock.engine.commands.command import MOST_JOBS, Command
from penstock.engine.faults import Faults, Outage
from penstock.engine.http import contract
from penstock.engine.http.answers import ApiUnreachable, Tries, no_database, refusal
from penstock.engine.http.keeper import HttpKeeper
from penstock.engine.http.listener import HttpListener
from penstock.engine.http.sent import SENT, Beat, path_of
from penstock.engine.http.wire import bodies, decoded
from penstock.engine.protocol import Capabilities, Ears
from penstock.errors import DuplicateKey, InvalidInput, PenstockError
from penstock.extras import needs
from penstock.job import Work

if TYPE_CHECKING:
    import httpx

R = TypeVar("R")

ANSWER_TIMEOUT = 30.0
"""Seconds that an answer may take, besides what it is kept back on purpose."""

_CONNECT = 10.0
_KEPT_OPEN = 4.0
"""Seconds that an idle connection is used again: less than the five after which uvicorn closes it."""


class HttpEngine:
    """`arun` and `run` run the commands that a worker needs. `url` is where the API is."""

    capabilities = Capabilities(
        transactions=False, leads=False, database=False, users=True, artifacts=True, durable_waits=True, search=True,
        statistics=True, quotas=True, key_limits=True, queue_settings=True, catch_up=True, idempotency_keys=True,
        claim_by_kind=True, after_existing=True,
    )  # fmt: skip
    faults = Faults()

    def __init__(
        self, url: str, key: str, *, answer_timeout: float = ANSWER_TIMEOUT, outage: Outage | None = None
    ) -> None:
        self.url = _checked(url)
        self.key = _checked_key(key)
        self.outage = outage or Outage(f"the API at {self.url}")
        self.keeper = HttpKeeper(self)
        self._answer_timeout = answer_timeout
        self._met = False
        self._server: str | None = "not asked yet"
        """What the server has said of its version."""
        self._lock = threading.Lock()
        self._sync: tuple[int, httpx.Client] | None = None
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        _httpx()  # what is missing is said when it is made, not when it is used

    def __repr__(self) -> str:
        return f"HttpEngine({self.url!r})"

    @property
    def place(self) -> "HttpPlace":
        return HttpPlace(self.url, self.key)

    def of_worker(self, answer_timeout: float | None) -> "HttpEngine":
        return HttpEngine(self.url, self.key, answer_timeout=answer_timeout or ANSWER_TIMEOUT, outage=self.outage)

    def listener(self, ears: Ears) -> HttpListener:
        return HttpListener(self, ears)

    def run(self, command: Command[R], /) -> R:
        command = _as_sent(command)
        with _once(command) as outcome:
            answers = [self._send(command, body) for body in bodies(command)]
            outcome.result = decoded(type(command), answers)
        return outcome.result

    async def arun(self, command: Command[R], /) -> R:
        command = _as_sent(command)
        with _once(command) as outcome:
            answers = [await self._asend(command, body) for body in bodies(command)]
            outcome.result = decoded(type(command), answers)
        return outcome.result

    # What takes a database.

    def enqueue(self, work: Work, connection: object = None) -> NoReturn:  # noqa: ARG002
        raise no_database("enqueue()")

    async def aenqueue(self, work: Work, connection: object = None) -> NoReturn:  # noqa: ARG002
        raise no_database("aenqueue()")

    def wait(self, id: UUID, timeout: float | None) -> NoReturn:  # noqa: ARG002
        raise no_database("result()")

    async def await_end(self, id: UUID, timeout: float | None) -> NoReturn:  # noqa: ARG002, ASYNC109
        raise no_database("aresult()")

    def transaction(self) -> NoReturn:
        raise no_database("ctx.transaction()")

    def atransaction(self) -> NoReturn:
        raise no_database("ctx.transaction()")

    def mover(self) -> NoReturn:
        raise no_database("moving a queue")

    # Requests.

    def _send(self, command: Command[Any], body: bytes) -> bytes:
        tries = self.tries()
        while True:
            try:
                response = self.client().post(**self._options(command, body))
                return self.read_answer(response)
            except (self.transport_error, ApiUnreachable) as error:
                fault = self.fault(error, command.repeatable)
            time.sleep(tries.pause(fault))

    async def _asend(self, command: Command[Any], body: bytes) -> bytes:
        tries = self.tries()
        while True:
            try:
                response = await self.client_of_this_loop().post(**self._options(command, body))
                return self.read_answer(response)
            except (self.transport_error, ApiUnreachable) as error:
                fault = self.fault(error, command.repeatable)
            await asyncio.sleep(tries.pause(fault))

    def _options(self, command: Command[Any], body: bytes) -> dict[str, Any]:
        kept = getattr(command, "wait", 0.0)  # on purpose
        return {
            "url": self.url + path_of(type(command)), "content": body, "headers": {"content-type": "application/json"},
            "timeout": _httpx().Timeout(self._answer_timeout + kept, connect=min(_CONNECT, self._answer_timeout)),
        }  # fmt: skip

    def read_answer(self, response: "httpx.Response") -> bytes:
        said = response.headers.get(contract.HEADER)
        # a refusal may be that of whoever stands between
        if said != self._server and (said or response.is_success):
            contract.check_server(self.url, said)
            self._server = said
        if response.status_code < 300:
            self._met = True
            self.outage.end(time.monotonic() - response.elapsed.total_seconds())
            return response.content
        raise refusal(response.status_code, response.content, self.url)

    def fault(self, error: Exception, repeatable: bool) -> PenstockError:
        """A fault that may be tried again; raises one that must not be."""
        fault = error if isinstance(error, ApiUnreachable) else _unreachable(error, self.url)
        self.outage.begin(str(fault))
        never_sent = isinstance(error, _httpx().ConnectError | _httpx().ConnectTimeout)
        if not (repeatable or never_sent):
            raise fault from error
        return fault

    @property
    def transport_error(self) -> type[Exception]:
        """What is raised when there is no answer."""
        kind: type[Exception] = _httpx().TransportError
        return kind

    def tries(self) -> Tries:
        return Tries(met=self._met)

    # by hand: one for all threads
    def client(self) -> "httpx.Client":
        """For threads."""
        with self._lock:
            if self._sync is None or self._sync[0] != os.getpid():
                self._sync = os.getpid(), _httpx().Client(**self._settings())
            return self._sync[1]

    def client_of_this_loop(self) -> "httpx.AsyncClient":
        loop = asyncio.get_running_loop()
        client = self._async.get(loop)
        if client is None:
            client = self._async[loop] = _httpx().AsyncClient(**self._settings())
        return client

    def _settings(self) -> dict[str, Any]:
        limits = _httpx().Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEPT_OPEN)
        headers = {"authorization": f"Bearer {self.key}", "user-agent": "penstock", **contract.SAID}
        return {"headers": headers, "limits": limits}

    # by hand: what threads use
    def close(self) -> None:
        with self._lock:
            if self._sync is not None and self._sync[0] == os.getpid():
                self._sync[1].close()
            self._sync = None

    async def leave_loop(self) -> None:
        client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def aclose(self) -> None:
        await self.leave_loop()
        self.close()


@dataclass(frozen=True, slots=True)
class HttpPlace:
    url: str
    key: str = field(repr=False)

    def engine(self) -> HttpEngine:
        return HttpEngine(self.url, self.key)


def _as_sent(command: Command[R]) -> Command[R]:
    """As the server knows it."""
    if isinstance(command, ExtendLease):
        # what happens by itself is the server's business: a worker over HTTP never leads
        return cast(Command[R], Beat(command.lease))
    if isinstance(command, Claim) and command.limit > MOST_JOBS:
        fewer: Claim = msgspec.structs.replace(command, limit=MOST_JOBS)
        return cast(Command[R], fewer)
    if type(command) not in SENT:
        raise no_database(f"`{type(command).__name__}`")
    return command


class _Outcome(Generic[R]):
    result: R


@contextmanager
def _once(command: Command[R]) -> Iterator[_Outcome[R]]:
    """A completion that is sent again because its answer was lost has happened already when one of its jobs exists."""
    outcome = _Outcome[R]()
    try:
        yield outcome
    except DuplicateKey as error:
        if not isinstance(command, CompleteAndEnqueue) or error.field != "id":
            raise
        outcome.result = cast(R, True)


def _unreachable(error: Exception, api: str) -> ApiUnreachable:
    told = " ".join(str(error).split()) or type(error).__name__
    return ApiUnreachable(f"the API at {api} gave no answer: {told}")


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if "@" in url or parts.query or parts.fragment:
        raise InvalidInput("api", "takes no user, query or fragment; the key comes from PENSTOCK_SERVICE_KEY")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("api", f"{url!r}: write it as https://jobs.example.com")
    return url.rstrip("/").removesuffix("/api")


def _checked_key(key: str) -> str:
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise InvalidInput("key", "set PENSTOCK_SERVICE_KEY to the server's service key")
    return key


def _httpx() -> Any:
    with needs("push", "a worker over the API"):
        import httpx
    return httpx
