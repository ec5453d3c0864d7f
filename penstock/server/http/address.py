"""Where this server is, as whoever asks sees it: links and `Location` begin with that, and are never relative."""

import ipaddress
import re
from collections.abc import Mapping
from functools import cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import InvalidInput
from penstock.server.settings import ServerSettings
from penstock.storage.links import address

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Address:
    """By the setting, else by the request: the Host it names and the path this application is mounted at; what a proxy
    says of both counts if the proxy is trusted."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        _networks(settings.trusted_proxies)  # what is wrong with them is said now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        here = address_of(scope, self._settings)

        async def send_absolute(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [_absolute(here, name, value) for name, value in message.get("headers", ())]
                if not any(name == b"cache-control" for name, _ in headers):
                    # whose answer it is follows from a header, which not every cache on the way looks at
                    headers.append((b"cache-control", b"private, no-store"))
                message = {**message, "headers": headers}
            await send(message)

        token = address.set(here)
        try:
            await self._app(scope, receive, send_absolute)
        finally:
            address.reset(token)


def address_of(scope: Scope, settings: ServerSettings, mounted_at: str = "") -> str:
    """Where the application is that a request came to, or the one that it has mounted there."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    scheme, host, prefix = scope.get("scheme", "http"), headers.get("host", ""), ""
    if _trusts(scope, _networks(settings.trusted_proxies)):
        scheme = _first(headers, "x-forwarded-proto") or scheme
        host = _first(headers, "x-forwarded-host") or host
        prefix = _first(headers, "x-forwarded-prefix").rstrip("/")
    if not _HOST.fullmatch(host):
        name, port = scope.get("server") or ("localhost", None)
        name = f"[{name}]" if ":" in name else name
        host = name if port is None else f"{name}:{port}"
    prefix = prefix if _PREFIX.fullmatch(prefix) else ""
    root = scope.get("root_path", "").rstrip("/") + mounted_at
    return f"{'https' if scheme == 'https' else 'http'}://{host}{prefix}{root}"


def client_of(scope: Scope, settings: ServerSettings) -> str:
    """The address that a request comes from: what the last trusted proxy says, else the connection's own."""
    headers = {name: value for name, value in scope["headers"] if name == b"x-forwarded-for"}
    told: str = headers.get(b"x-forwarded-for", b"").decode("latin-1").rpartition(",")[2].strip()
    if told and _trusts(scope, _networks(settings.trusted_proxies)):
        return told[:100]
    client: tuple[str, int] | None = scope.get("client")
    return client[0] if client else ""


def _trusts(scope: Scope, trusted: tuple[Network, ...] | None) -> bool:
    client = scope.get("client")
    if client is None or trusted is None:  # over a unix socket
        return True
    try:
        peer = ipaddress.ip_address(client[0])
    except ValueError:
        return False
    return any(peer in network for network in trusted)


def absolute(path: str) -> str:
    """A path of this application as a link that works from outside, while a request is answered."""
    return (address.get() or "") + path


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").partition(",")[0].strip()


def _absolute(here: str, name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return (name, here.encode() + value) if name == b"location" and value.startswith(b"/") else (name, value)


@cache
def _networks(given: str) -> tuple[Network, ...] | None:
    """None for all of them."""
    if given.strip() == "*":
        return None
    try:
        return tuple(ipaddress.ip_network(each.strip()) for each in given.split(",") if each.strip())
    except ValueError as error:
        raise InvalidInput("trusted_proxies", f"{error}; write it as 10.0.0.0/8,127.0.0.1, or *") from None
