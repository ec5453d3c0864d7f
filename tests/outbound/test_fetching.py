"""Fetching what users point at, from real servers on loopback that the guard is told to allow."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest

from penstock.outbound import Guard, Refused, TooLarge, fetch, guarded_client
from tests.kit.certificates import certified
from tests.kit.fake_http import Answer, Request, fake_server

HERE = ["127.0.0.1/32"]


class Names:
    """Name servers that give an answer after the other, and the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def test_what_is_there_is_fetched() -> None:
    def answer(request: Request) -> Answer:
        return Answer(203, b"hello", {"X-Kind": "greeting"})

    async with fake_server(answer) as server:
        fetched = await fetch(Guard(HERE), server.at("127.0.0.1", "/a?b=c"), headers={"X-Asked": "yes"})
    assert (fetched.status, fetched.body, fetched.headers["x-kind"], fetched.ok) == (203, b"hello", "greeting", True)
    assert fetched.url == server.at("127.0.0.1", "/a?b=c")
    [request] = server.requests
    assert (request.path, request.headers["x-asked"]) == ("/a?b=c", "yes")


async def test_without_leave_nothing_is_sent_to_this_machine() -> None:
    async with fake_server(lambda _: Answer()) as server:
        for host in (
            "127.0.0.1",
            "localhost",
            "2130706433",
            "0x7f.1",
            "127.0.0.1.",
            "127。0。0。1",
            "[::ffff:127.0.0.1]",
        ):
            with pytest.raises(Refused):
                await fetch(Guard(), server.at(host))
    assert server.requests == []


@pytest.mark.parametrize("url", [
    "http://user:pass@127.0.0.1/", "http://example.com@127.0.0.1/", "ftp://127.0.0.1/", "http:///x", "127.0.0.1", "",
    "http://[fe80::1%25lo]/", "http://[::1/", "http://127.0.0.1:99999/", "http://127.0.0.1:0/", "http://１２７.0.0.1/",
])  # fmt: skip
async def test_strange_urls_are_refused_before_anything_is_sent(url: str) -> None:
    async with guarded_client(Guard(["127.0.0.0/8", "fe80::/10"])) as client:
        with pytest.raises((Refused, httpx.UnsupportedProtocol, httpx.InvalidURL)):
            await client.get(url)


@pytest.mark.parametrize("host", ["xn--a", "xn--ls8h.la", "xn--99999999999"])
async def test_a_name_that_cannot_be_decoded_is_refused_wherever_it_turns_up(host: str) -> None:
    async with fake_server(lambda _: Answer(302, headers={"Location": f"http://{host}/"})) as server:
        for url in (f"http://{host}/", server.url):
            with pytest.raises(Refused, match="not a name"):
                await fetch(Guard(["127.0.0.1"]), url)


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name that leads nowhere else: had it been looked up again, there would be no connection at all."""
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    async with (
        fake_server(lambda _: Answer(body=b"pinned")) as server,
        guarded_client(Guard(HERE, resolve=names)) as client,
    ):
        url = server.at("changing.invalid")
        assert (await fetch(client, url)).body == b"pinned"
        assert names.asked == ["changing.invalid"], "looked up once, for the check and for the connection"
        assert server.requests[0].headers["host"] == f"changing.invalid:{server.port}"
        with pytest.raises(Refused, match="a private address"):
            await fetch(client, url)
    assert len(server.requests) == 1


async def test_a_name_beyond_ascii_is_looked_up_in_its_ascii_form() -> None:
    names = Names(["127.0.0.1"])
    async with fake_server(lambda _: Answer(body=b"found")) as server:
        assert (await fetch(Guard(HERE, resolve=names), server.at("BÜCHER.invalid."))).body == b"found"
    assert names.asked == ["xn--bcher-kva.invalid"]


async def test_an_address_that_does_not_answer_leaves_the_next_one() -> None:
    async with fake_server(lambda _: Answer(body=b"second")) as server:
        guard = Guard(["127.0.0.0/8"], resolve=Names(["127.0.0.2", "127.0.0.1"]))
        assert (await fetch(guard, server.at("two.invalid"))).body == b"second"
        with pytest.raises(httpx.ConnectError):
            await fetch(Guard(["127.0.0.0/8"], resolve=Names(["127.0.0.2"])), server.at("two.invalid"))


async def test_a_certificate_is_checked_for_the_name_not_for_the_address(tmp_path: Path) -> None:
    ours, trusting = certified("hooks.invalid", tmp_path)
    guard = Guard(HERE, resolve=Names(["127.0.0.1"]))
    async with (
        fake_server(lambda _: Answer(body=b"secure"), tls=ours) as server,
        guarded_client(guard, verify=trusting) as client,
    ):
        assert (await fetch(client, server.at("hooks.invalid"))).body == b"secure"
        with pytest.raises(httpx.ConnectError, match="certificate"):
            await fetch(client, server.at("other.invalid"))
        with pytest.raises(httpx.ConnectError, match="certificate"):
            await fetch(guard, server.at("hooks.invalid"))


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest/meta-data/", "http://inner.invalid/", "http://[::ffff:a9fe:a9fe]/",
               "file:///etc/passwd", "http://user:pass@127.0.0.1/", "http://2852039166/"],
)  # fmt: skip
async def test_a_redirect_is_guarded_like_a_request(target: str) -> None:
    names = Names(["127.0.0.1"], ["192.168.0.7"])
    async with fake_server(lambda _: Answer(302, headers={"Location": target})) as server:
        with pytest.raises((Refused, httpx.UnsupportedProtocol)):
            await fetch(Guard(HERE, resolve=names), server.at("outer.invalid"))
    assert len(server.requests) == 1


async def test_redirects_are_followed_five_times_by_fetch_and_by_a_client_not_at_all() -> None:
    def answer(request: Request) -> Answer:
        left = int(request.path[1:])
        return Answer(302, headers={"Location": f"/{left - 1}"}) if left else Answer(body=b"there")

    async with fake_server(answer) as server:
        fetched = await fetch(Guard(HERE), server.at("127.0.0.1", "/5"))
        assert (fetched.body, fetched.url) == (b"there", server.at("127.0.0.1", "/0"))
        with pytest.raises(httpx.TooManyRedirects):
            await fetch(Guard(HERE), server.at("127.0.0.1", "/6"))
        async with guarded_client(Guard(HERE)) as client:
            assert (await fetch(client, server.at("127.0.0.1", "/1"))).status == 302


async def test_a_body_over_the_limit_is_cut_off() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(65536)

    async with fake_server(lambda _: Answer(pieces=endless())) as server:
        with pytest.raises(TooLarge, match="larger than 100,000 bytes"):
            await fetch(Guard(HERE), server.url, max_bytes=100_000)
    async with fake_server(lambda _: Answer(body=bytes(1000))) as server:
        assert len((await fetch(Guard(HERE), server.url, max_bytes=1000)).body) == 1000
        with pytest.raises(TooLarge):
            await fetch(Guard(HERE), server.url, max_bytes=999)


async def test_a_packed_body_is_counted_unpacked_and_never_held_whole() -> None:
    bomb = gzip.compress(bytes(200_000_000))
    async with fake_server(lambda _: Answer(body=bomb, headers={"Content-Encoding": "gzip"})) as server:
        tracemalloc.start()
        with pytest.raises(TooLarge):
            await fetch(Guard(HERE), server.url, max_bytes=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 10_000_000


async def test_an_honest_packed_body_is_unpacked() -> None:
    text = b"".join(b"%d " % number for number in range(100_000))
    async with fake_server(lambda _: Answer(body=gzip.compress(text), headers={"Content-Encoding": "gzip"})) as server:
        assert (await fetch(Guard(HERE), server.url)).body == text
        assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("encoding", "body", "error"),
    [
        ("br", b"x", Refused),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x")), Refused),
        ("gzip", b"not packed at all", httpx.DecodingError),
        ("gzip", gzip.compress(bytes(1000))[:-9], httpx.DecodingError),
        ("deflate", zlib.compress(b"x"), Refused),
    ],
    ids=["brotli", "twice", "not at all", "cut short", "deflate"],
)
async def test_a_body_packed_wrongly_or_unasked_is_not_taken(
    encoding: str, body: bytes, error: type[Exception]
) -> None:
    async with fake_server(lambda _: Answer(body=body, headers={"Content-Encoding": encoding})) as server:
        with pytest.raises(error):
            await fetch(Guard(HERE), server.url)


async def test_a_body_that_drips_for_ever_ends_with_the_whole_time() -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b"."
            await asyncio.sleep(0.01)

    async with fake_server(lambda _: Answer(pieces=drip())) as server:
        async with asyncio.timeout(20):
            with pytest.raises(httpx.ReadTimeout):
                await fetch(Guard(HERE), server.url, timeout=0.3)
            async with guarded_client(Guard(HERE), timeout=0.3) as client:
                with pytest.raises(httpx.ReadTimeout):
                    await client.get(server.url)


async def test_a_server_that_never_answers_ends_with_the_whole_time() -> None:
    async def hang(request: Request) -> Answer:
        await asyncio.Event().wait()
        return Answer()

    async with fake_server(hang) as server, asyncio.timeout(20):
        with pytest.raises(httpx.TimeoutException):
            await fetch(Guard(HERE), server.url, timeout=0.2)


async def test_a_name_server_that_never_answers_ends_with_the_whole_time() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with asyncio.timeout(20):
        with pytest.raises(httpx.TimeoutException):
            await fetch(Guard(resolve=resolve), "http://slow.invalid/", timeout=0.2)


async def test_proxies_of_the_environment_play_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_server(lambda _: Answer(502)) as proxy, fake_server(lambda _: Answer(body=b"direct")) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await fetch(Guard(HERE), server.url)).body == b"direct"
    assert proxy.requests == []
