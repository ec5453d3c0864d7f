"""The engine over HTTP: runs the calls that a worker makes, through the API and with the service key."""

import asyncio
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit
from uuid import UUID
from weakref import WeakKeyDictionary

from penstock.engine.call import Call
from penstock.engine.http import requests
from penstock.engine.http.answers import Tries, refusal
from penstock.engine.http.errors import ApiUnreachable, no_database
from penstock.engine.http.messages import Beat
from penstock.engine.http.requests import Exchange, Request
from penstock.engine.outage import Outage
from penstock.errors import DuplicateKey, InvalidInput, PenstockError
from penstock.extras import needs
from penstock.job import ClaimedJob, Lease, NewJob

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that an answer may take, besides what it is kept back on purpose."""

_CONNECT = 10.0
_KEPT_OPEN = 4.0
"""Seconds that an idle connection is used again: less than the five after which uvicorn closes it."""


class RemoteEngine:
    """`arun` and `run` run the calls of `penstock.engine.calls` that a worker needs. `url` is where the API is."""

    def __init__(self, url: str, key: str, *, patience: float = PATIENCE, outage: Outage | None = None) -> None:
        self.url = _checked(url)
        self.key = _checked_key(key)
        self.outage = outage or Outage(f"the API at {self.url}")
        self._patience = patience
        self._met = False
        self._lock = threading.Lock()
        self._sync: tuple[int, httpx.Client] | None = None
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        _httpx()  # what is missing is said when it is made, not when it is used

    def __repr__(self) -> str:
        return f"RemoteEngine({self.url!r})"

    def with_patience(self, patience: float) -> "RemoteEngine":
        """The same with connections of its own."""
        return RemoteEngine(self.url, self.key, patience=patience, outage=self.outage)

    @property
    def pools(self) -> NoReturn:
        raise no_database("ctx.transaction()")

    def run(self, call: Call[T]) -> T:
        return self._exchange(requests.exchange_for(call), repeatable=call.repeatable)

    async def arun(self, call: Call[T]) -> T:
        return await self._aexchange(requests.exchange_for(call), repeatable=call.repeatable)

    async def beat(self, lease: Lease, *, queues: Sequence[str], told: Iterable[UUID], wait: float) -> Beat:
        """A heartbeat, answered as soon as there is work in these queues or a job to stop that it was not told of."""
        # whoever calls it comes again by itself
        return await self._aexchange(requests.beat(lease, queues=queues, told=told, wait=wait), repeatable=False)

    # Sent again when the answer was lost: the jobs have their ids, so it cannot happen twice. Then it is a duplicate
    # or refused, and either way there is nothing left to do.

    def complete_with(
        self, lease: Lease, job: ClaimedJob, output: bytes | None, further: Sequence[NewJob],
        report: Mapping[str, Any] | None = None,
    ) -> bool:  # fmt: skip
        try:
            return self._exchange(requests.complete_with(lease, job, output, further, report), repeatable=True)
        except DuplicateKey as error:
            if error.field != "id":
                raise
            return False

    async def acomplete_with(
        self, lease: Lease, job: ClaimedJob, output: bytes | None, further: Sequence[NewJob],
        report: Mapping[str, Any] | None = None,
    ) -> bool:  # fmt: skip
        try:
            return await self._aexchange(requests.complete_with(lease, job, output, further, report), repeatable=True)
        except DuplicateKey as error:
            if error.field != "id":
                raise
            return False

    def _exchange(self, exchange: Exchange[T], *, repeatable: bool) -> T:
        return exchange.read([self._send(request, repeatable) for request in exchange.requests])

    async def _aexchange(self, exchange: Exchange[T], *, repeatable: bool) -> T:
        return exchange.read([await self._asend(request, repeatable) for request in exchange.requests])

    def _send(self, request: Request, repeatable: bool) -> bytes:
        tries = self.tries()
        while True:
            try:
                response = self.client().request(**self._options(request))
                return self.read_answer(response)
            except (self.transport_error, ApiUnreachable) as error:
                fault = self.fault(error, repeatable)
            time.sleep(tries.pause(fault))

    async def _asend(self, request: Request, repeatable: bool) -> bytes:
        tries = self.tries()
        while True:
            try:
                response = await self.client_of_this_loop().request(**self._options(request))
                return self.read_answer(response)
            except (self.transport_error, ApiUnreachable) as error:
                fault = self.fault(error, repeatable)
            await asyncio.sleep(tries.pause(fault))

    def _options(self, request: Request) -> dict[str, Any]:
        headers = {"content-type": "application/json"} if request.body is not None else None
        return {
            "method": request.method, "url": self.url + request.path, "content": request.body, "headers": headers,
            "timeout": _httpx().Timeout(self._patience + request.kept, connect=min(_CONNECT, self._patience)),
        }  # fmt: skip

    def read_answer(self, response: "httpx.Response") -> bytes:
        if response.status_code < 300:
            self._met = True
            self.outage.end()
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
        return {"headers": {"authorization": f"Bearer {self.key}", "user-agent": "penstock"}, "limits": limits}

    def close(self) -> None:
        with self._lock:
            if self._sync is not None and self._sync[0] == os.getpid():
                self._sync[1].close()
            self._sync = None

    async def aclose(self) -> None:
        client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()
        self.close()


def _unreachable(error: Exception, api: str) -> ApiUnreachable:
    told = " ".join(str(error).split()) or type(error).__name__
    return ApiUnreachable(f"the API at {api} gave no answer: {told}")


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("api", f"{url!r}: write it as https://jobs.example.com")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidInput("api", "takes no user, query or fragment; the key comes from PENSTOCK_SERVICE_KEY")
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
