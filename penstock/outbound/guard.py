"""Where a request may go. Decided for each connection, by the addresses that its host's name leads to just then."""

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

from penstock.errors import PenstockError
from penstock.outbound.addresses import Network, inner_kind, literal, networks

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, given its name and a port."""

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\Z")
_NUMBER = re.compile(r"(.*\.)?(0x[0-9a-f]*|[0-9]+)\Z")
_PORTS = {"http": 80, "https": 443}


class Refused(PenstockError):
    """A request was not sent, or its answer not taken. `lasting`: trying again will not help."""

    def __init__(self, problem: str, *, lasting: bool = True) -> None:
        super().__init__(problem)
        self.lasting = lasting


class NoAddress(Refused):
    """A name leads nowhere, just now."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no address; check the name", lasting=False)


class TooLarge(Refused):
    """An answer is larger than its limit; the rest of it was not read."""


class Guard:
    """Refuses requests into our own networks, whatever a name leads to and however an address is spelled.

    `allow` are networks that are nevertheless open; `ports` the only ports, if given.

    ```python
    from penstock.outbound import Guard, Refused, fetch

    try:
        await fetch(Guard(ports=[80, 443]), "http://127.0.0.1/admin")
    except Refused as refused:
        print(refused)  # 127.0.0.1 leads to a loopback address; if that is meant, allow its network
    ```
    """

    def __init__(
        self,
        allow: Iterable[str | Network] = (),
        *,
        schemes: Iterable[str] = ("http", "https"),
        ports: Iterable[int] | None = None,
        resolve: Resolver | None = None,
    ) -> None:
        self.allow = networks(allow)
        self.schemes = frozenset(schemes)
        self.ports = None if ports is None else frozenset(ports)
        self._resolve = resolve or _resolve

    async def addresses(self, scheme: str, host: str, port: int | None) -> list[str]:
        """The addresses to connect to, each of which was checked; a connection must be to one of these."""
        host = host.lower()
        port = self._check(scheme, host, port)
        if literal(host) is not None:
            return [host]
        name = host.removesuffix(".")
        try:
            found = await self._resolve(name, port)
        except (OSError, UnicodeError):
            # UnicodeError: a part of the name is longer than any name server knows
            raise NoAddress(name) from None
        if not found:
            raise NoAddress(name)
        for each in found:
            # one bad answer spoils them all: which of them is taken must not be a matter of luck
            self._check_address(name, each, lasting=False)
        return list(dict.fromkeys(found))

    def _check(self, scheme: str, host: str, port: int | None) -> int:
        if scheme not in self.schemes:
            raise Refused(f"{scheme or 'no scheme'}: only {' and '.join(sorted(self.schemes))} URLs are taken")
        port = _PORTS.get(scheme, 0) if port is None else port
        if not 0 < port < 65536:
            raise Refused(f"port {port}: there is no such port")
        if self.ports is not None and port not in self.ports:
            raise Refused(f"port {port}: only {', '.join(map(str, sorted(self.ports)))} may be used")
        host = host.lower()
        if literal(host) is not None:
            self._check_address(host, host, lasting=True)
            return port
        host = host.removesuffix(".")
        if _NUMBER.match(host):
            # 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1 to some and something else to others
            raise Refused("an IP address is written as four decimal numbers, with nothing after them")
        if not _NAME.match(host):
            raise Refused("the URL's host is not a name; write it as https://example.com/path")
        return port

    def _check_address(self, host: str, text: str, *, lasting: bool) -> None:
        address = literal(text)
        if address is None or "%" in text:
            raise Refused(f"{host} leads to something that is no IP address", lasting=lasting)
        kind = inner_kind(address, self.allow)
        if kind is not None:
            # the address itself is not told: it is ours, and this text is for whoever gave us the name
            raise Refused(f"{host} leads to {kind} address; if that is meant, allow its network", lasting=lasting)


@cache
def _lookups(_process: int) -> ThreadPoolExecutor:
    """Threads of its own: a stranger's name server may let them all wait, and the process has other things to do in
    threads. A fork has none of its parent's."""
    return ThreadPoolExecutor(16, "lookup")


async def _resolve(host: str, port: int) -> Sequence[str]:
    asked = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_lookups(os.getpid()), asked)
    return [str(address[0]) for *_, address in found]
