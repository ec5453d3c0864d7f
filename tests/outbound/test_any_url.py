"""Any URL at all, and any redirect, through the guard: what is connected to is a public address, or nothing is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from unittest.mock import patch

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from penstock.outbound import Guard, Refused
from penstock.outbound.transport import GuardedTransport
from tests import slow

pytestmark = [pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []

HOSTS = [
    "127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::]", "[fe80::1%25eth0]", "169.254.169.254", "metadata.google.internal",
    "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "1.1.1.1", "[2606:4700::1111]", "a.example", "inner.example", "xn--a",
    "127.0.0.1.", "a.example.", "EXAMPLE", "127.0.0.1%2f", "a_b.example", "[::1", "::1",
]  # fmt: skip
ANSWERS = ["1.1.1.1", "2606:4700::1111", "127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254", "x", ""]

schemes = some.sampled_from(["http", "https", "HTTP", "ftp", "file", "gopher", "javascript", "http:", ""])
users = some.sampled_from(["", "", "", "u@", "u:p@", "1.1.1.1@", "1.1.1.1:80@", "%31@", "\\@", "#@", "?@"])
ports = some.sampled_from(["", "", ":80", ":0", ":65536", ":-1", ":8080", ":", ":１", ":80#@1.1.1.1"])
rests = some.sampled_from(["", "/", "/a?b=http://127.0.0.1", "#", "\\@127.0.0.1", "/../", "\r\nHost: x", "?"])
hosts = some.sampled_from(HOSTS) | some.text(max_size=12) | some.ip_addresses().map(str)
urls = some.builds("{}://{}{}{}{}".format, schemes, users, hosts, ports, rests)
answers = some.lists(some.sampled_from(ANSWERS), max_size=3)


async def nothing() -> AsyncIterator[bytes]:
    yield b""


class Inner(httpx.AsyncHTTPTransport):
    """Notes where it would have connected to, and answers with redirects."""

    def __init__(self, redirects: list[str]) -> None:
        self.reached: list[str] = []
        self._redirects = redirects

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.reached.append(request.url.host)
        if not self._redirects:
            return httpx.Response(200, content=nothing())
        where = self._redirects.pop(0).encode("utf-8", "replace")
        return httpx.Response(302, headers=[(b"location", where)], content=nothing())

    async def aclose(self) -> None: ...


async def get(url: str, redirects: list[str], answers: Sequence[str]) -> list[str]:
    async def resolve(_: str, __: int) -> Sequence[str]:
        return answers

    inner = Inner(redirects)
    with patch.object(httpx, "AsyncHTTPTransport", lambda **_: inner):
        transport = GuardedTransport(Guard(resolve=resolve))
    async with httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True) as client:
        with suppress(Refused, httpx.HTTPError, httpx.InvalidURL, UnicodeError):
            await client.get(url)
    return inner.reached


@settings(max_examples=500 if slow.asked_for else 60)
@given(urls | some.text(max_size=30), some.lists(urls, max_size=2), answers)
@example("http://a.example/", ["http://[::ffff:127.0.0.1]/"], ["1.1.1.1"])
@example("http://1.1.1.1/", ["//127.0.0.1/"], [])
def test_whatever_the_url_no_inner_address_is_connected_to(url: str, redirects: list[str], answers: list[str]) -> None:
    for host in asyncio.run(get(url, redirects, answers)):
        address = ip_address(host)
        assert address.is_global
        assert not address.is_multicast


def test_what_is_public_is_reached() -> None:
    assert asyncio.run(get("http://a.example/", ["https://1.1.1.1/"], ["2606:4700::1111"])) == [
        "2606:4700::1111",
        "1.1.1.1",
    ]
