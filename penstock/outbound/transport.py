"""An HTTP transport that connects only to addresses it has checked, and reads no more than it should."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from functools import cache

import httpx

from penstock.outbound.guard import Guard, Refused, TooLarge

MAX_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 5
CONNECT = 10.0
PIECE = 64 * 1024
_OF_COMPRESSION = (b"content-encoding", b"content-length")


def guarded_client(
    guard: Guard,
    *,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
    headers: Mapping[str, str] | None = None,
    follow_redirects: bool = False,
    verify: ssl.SSLContext | None = None,
) -> httpx.AsyncClient:
    """A client for URLs that users gave. `timeout`: seconds for a request and all of its answer; `max_bytes`: of the
    answer, unpacked. Proxies and credentials of the environment play no part."""
    return httpx.AsyncClient(
        transport=GuardedTransport(guard, timeout=timeout, max_bytes=max_bytes, verify=verify),
        timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT)),
        headers={"Accept-Encoding": "gzip", "User-Agent": "penstock", **(headers or {})},
        follow_redirects=follow_redirects,
        max_redirects=MAX_REDIRECTS,
        trust_env=False,
    )


class GuardedTransport(httpx.AsyncBaseTransport):
    """Asks the guard about each request, so about each hop of a redirect too, and connects to what it answered.

    Looking a name up once to check it and once more to connect would let its owner give two different answers.
    A request's extensions `total` (seconds) and `max_bytes` take the place of the transport's own.
    """

    def __init__(
        self, guard: Guard, *, timeout: float = 30.0, max_bytes: int = MAX_BYTES, verify: ssl.SSLContext | None = None
    ) -> None:
        self._guard = guard
        self._timeout = timeout
        self._max_bytes = max_bytes
        # Connections are not kept: the pool knows them by address, and would send the request of one host over a
        # connection whose certificate was checked for another.
        self._inner = httpx.AsyncHTTPTransport(
            verify=verify or _tls(), trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        deadline = asyncio.get_running_loop().time() + float(request.extensions.get("total", self._timeout))
        max_bytes = int(request.extensions.get("max_bytes", self._max_bytes))
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._send(request)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time", request=request) from None
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            await response.aclose()
            raise Refused("the answer is compressed in a way that was not asked for; only gzip is taken")
        compressed = encoding == "gzip"
        told = [each for each in response.headers.raw if not (compressed and each[0].lower() in _OF_COMPRESSION)]
        body = _Bounded(response, compressed, max_bytes, deadline, request)
        return httpx.Response(response.status_code, headers=told, stream=body, extensions=response.extensions)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if url.userinfo:
            raise Refused("a URL with a user name or password in it is not taken; use a header")
        host = url.raw_host.decode("ascii")
        addresses = await self._guard.addresses(url.scheme, host, url.port)
        failed: httpx.TransportError = httpx.ConnectError("no address", request=request)
        for address in addresses:
            # the Host header is set already; the certificate is checked for the name, not for the address
            pinned = httpx.Request(
                request.method,
                url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host.removesuffix(".")},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                # nothing was sent yet
                failed = error
        raise failed


class _Bounded(httpx.AsyncByteStream):
    """An answer's body, unpacked here and in small pieces: a thousand zeros may hide in each of its bytes."""

    def __init__(
        self, response: httpx.Response, compressed: bool, max_bytes: int, deadline: float, request: httpx.Request
    ) -> None:
        self._response = response
        self._compressed = compressed
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raw = self._raw()
        try:
            size = 0
            async for piece in self._unpacked(raw) if self._compressed else raw:
                size += len(piece)
                self._check(size)
                yield piece
        finally:
            await raw.aclose()

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _raw(self) -> AsyncGenerator[bytes, None]:
        pieces = aiter(self._response.aiter_raw())
        size = 0
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(pieces, None)
            except TimeoutError:
                raise httpx.ReadTimeout("the answer did not end in time", request=self._request) from None
            if piece is None:
                return
            size += len(piece)
            self._check(size)
            yield piece

    async def _unpacked(self, raw: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        begun = False
        async for compressed in raw:
            begun = True
            while True:
                try:
                    piece = gzip.decompress(compressed, PIECE)
                except zlib.error:
                    raise httpx.DecodingError("the answer is not what it says", request=self._request) from None
                compressed = gzip.unconsumed_tail
                if piece:
                    yield piece
                if gzip.eof or (not compressed and len(piece) < PIECE):
                    break
        if begun and not gzip.eof:
            raise httpx.DecodingError("the answer ends too early", request=self._request)

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise TooLarge(f"the answer is larger than {self._max_bytes:,} bytes")


@cache
def _tls() -> ssl.SSLContext:
    # one for all: making it takes some 15 ms
    return httpx.create_ssl_context(trust_env=False)
