"""A proxy that asks the guard, on real sockets."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from penstock.outbound import Guard, GuardingProxy, Refused
from tests.kit.certificates import certified
from tests.kit.fake_http import Answer, Request, fake_server

HERE = ["127.0.0.1/32"]


def through(proxy: GuardingProxy, **more: object) -> httpx.AsyncClient:
    told = httpx.Proxy(proxy.url, auth=(proxy.username, proxy.password))
    return httpx.AsyncClient(proxy=told, trust_env=False, timeout=20, **more)  # type: ignore[arg-type]


def password(proxy: GuardingProxy) -> str:
    token = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    return f"Proxy-Authorization: Basic {token}\r\n"


async def say(proxy: GuardingProxy, text: str) -> bytes:
    """All that comes back for some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        writer.write(text.encode("latin-1"))
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


async def test_a_request_is_passed_on_without_what_was_meant_for_the_proxy() -> None:
    async with (
        fake_server(lambda _: Answer(203, b"hello", {"X-Kind": "greeting", "Keep-Alive": "timeout=9"})) as server,
        GuardingProxy(Guard(HERE)) as proxy,
        through(proxy) as client,
    ):
        asked = {"X-Asked": "yes", "Connection": "keep-alive, X-Private", "X-Private": "hop", "TE": "trailers"}
        answer = await client.post(server.at("127.0.0.1", "/a?b=c"), content=b"body", headers=asked)
        assert (answer.status_code, answer.content, answer.headers["x-kind"]) == (203, b"hello", "greeting")
        assert answer.headers["connection"] == "close"
        assert "keep-alive" not in answer.headers
        [request] = server.requests
        assert (request.method, request.path, request.body) == ("POST", "/a?b=c", b"body")
        assert request.headers["host"] == f"127.0.0.1:{server.port}"
        assert (request.headers["x-asked"], request.headers["connection"]) == ("yes", "close")
        assert not {"proxy-authorization", "x-private", "te"} & request.headers.keys()


async def test_tls_goes_through_untouched(tmp_path: Path) -> None:
    ours, trusting = certified("inner.invalid", tmp_path)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with (
        fake_server(lambda _: Answer(body=b"secure"), tls=ours) as server,
        GuardingProxy(Guard(HERE, resolve=resolve)) as proxy,
        through(proxy, verify=trusting) as client,
    ):
        assert (await client.get(server.at("inner.invalid"))).content == b"secure"


@pytest.mark.parametrize("given", [None, "Basic", "Basic cGVuc3RvY2s6d3Jvbmc=", "Bearer x", "Basic \xff"])
async def test_without_the_password_nobody_is_served(given: str | None) -> None:
    async with fake_server(lambda _: Answer()) as server, GuardingProxy(Guard(HERE)) as proxy:
        field = "" if given is None else f"Proxy-Authorization: {given}\r\n"
        for first in (f"GET {server.url} HTTP/1.1", f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"):
            answer = await say(proxy, f"{first}\r\nHost: x\r\n{field}\r\n")
            assert answer.startswith(b"HTTP/1.1 407 ")
            assert b'Proxy-Authenticate: Basic realm="penstock"' in answer
    assert server.requests == []


async def test_what_the_guard_refuses_is_answered_with_403_and_remembered() -> None:
    async with (
        fake_server(lambda _: Answer()) as server,
        GuardingProxy(Guard()) as proxy,
        through(proxy) as client,
    ):
        assert (await client.get(server.url)).status_code == 403
        with pytest.raises(httpx.ProxyError, match="403"):
            await client.get("https://169.254.169.254/latest/meta-data/")
        answer = await say(proxy, f"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n{password(proxy)}\r\n")
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert set(proxy.refused) == {
            ("127.0.0.1", server.port),
            ("169.254.169.254", 443),
            ("::ffff:127.0.0.1", 443),
        }
        assert all(isinstance(each, Refused) and each.lasting for each in proxy.refused.values())
    assert server.requests == []


async def test_a_name_that_changes_its_mind_is_looked_up_once_for_each_request() -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    async def resolve(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    async with (
        fake_server(lambda _: Answer(body=b"first")) as server,
        GuardingProxy(Guard(HERE, resolve=resolve)) as proxy,
        through(proxy) as client,
    ):
        assert (await client.get(server.at("changing.invalid"))).content == b"first"
        assert (await client.get(server.at("changing.invalid"))).status_code == 403
    assert answers == []


async def test_the_proxy_does_not_lead_to_itself() -> None:
    async with GuardingProxy(Guard(["127.0.0.0/8", "::1"])) as proxy:
        for host in ("127.0.0.1", "[::ffff:127.0.0.1]"):
            answer = await say(proxy, f"GET http://{host}:{proxy.port}/ HTTP/1.1\r\n{password(proxy)}\r\n")
            assert answer.startswith(b"HTTP/1.1 403 ")


async def test_with_the_bytes_spent_every_connection_is_cut_and_none_is_made() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(65536)

    waiting = asyncio.Event()

    async def answer(request: Request) -> Answer:
        if request.path == "/waits":
            waiting.set()
            await asyncio.Event().wait()
        return Answer(pieces=endless())

    called: list[int] = []
    async with (
        fake_server(answer) as server,
        GuardingProxy(Guard(HERE), max_bytes=1_000_000) as proxy,
        through(proxy) as client,
    ):
        proxy.on_exhausted = lambda: called.append(proxy.passed)
        other = asyncio.create_task(client.get(server.at("127.0.0.1", "/waits")))
        await waiting.wait()
        # no length was told: closed, and not reset, it would look like the end of the answer
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await client.get(server.url)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await other
        assert proxy.exhausted
        assert called == [proxy.passed]
        assert (await client.get(server.url)).status_code == 503
    assert 1_000_000 < proxy.passed < 1_100_000


@pytest.mark.parametrize("request_", [
    "GET / HTTP/1.1\r\n", "GET https://127.0.0.1:{port}/ HTTP/1.1\r\n", "GET ftp://127.0.0.1:{port}/ HTTP/1.1\r\n",
    "GET http://user:pass@127.0.0.1:{port}/ HTTP/1.1\r\n", "GET http://127.0.0.1:{port}:1/ HTTP/1.1\r\n",
    "GET http://127.0.0.1:{port}\\@x/ HTTP/1.1\r\n", "GET http:///x HTTP/1.1\r\n", "CONNECT 127.0.0.1 HTTP/1.1\r\n",
    "GET  http://127.0.0.1:{port}/ HTTP/1.1\r\n", "GET http://127.0.0.1:{port}/ HTTP/2\r\n", "hello\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nA: b\r\n folded\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nA : b\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nA: b\rC: d\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nno colon\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nA: b\x01c\r\n", "GET http://127.0.0.1:{port}/ HTTP/2.0\r\n",
    "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
    "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
    "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
    "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: +1\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nA: " + "x" * 70_000 + "\r\n",
    "GET http://127.0.0.1:{port}/ HTTP/1.1\r\n" + "A: b\r\n" * 12_000,
], ids=lambda text: text[:60].strip())  # fmt: skip
async def test_what_could_be_read_in_two_ways_is_not_passed_on(request_: str) -> None:
    async with fake_server(lambda _: Answer()) as server, GuardingProxy(Guard(HERE)) as proxy:
        first, _, rest = request_.partition("\r\n")
        asked = f"{first}\r\n{password(proxy)}{rest}\r\n".replace("{port}", str(server.port))
        answer = b""
        try:
            answer = await say(proxy, asked)
        except ConnectionResetError:
            assert len(asked) > 60_000, "only what is too long to be read"
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert server.requests == []


async def test_a_connection_carries_one_request() -> None:
    """What follows it would go to the same server, whoever it was meant for."""
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"abc" not in heard:
            heard.extend(await reader.read(1000))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\none")
        with suppress(TimeoutError):
            heard.extend(await asyncio.wait_for(reader.read(1000), 0.3))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, GuardingProxy(Guard(HERE)) as proxy:
        asked = f"POST http://127.0.0.1:{port}/ HTTP/1.1\r\n{password(proxy)}Content-Length: 3\r\n\r\nabc"
        answer = await say(proxy, asked + f"GET http://example.com/secret HTTP/1.1\r\n{password(proxy)}\r\n")
    assert answer.endswith(b"one")
    assert b"Connection: close" in answer
    assert b"keep-alive" not in answer
    assert heard.endswith(b"abc")
    assert b"secret" not in heard


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 407 Give\r\nProxy-Authenticate: Basic realm=x\r\n\r\n", b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
    b"not http\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
], ids=lambda answer: answer[:20].decode())  # fmt: skip
async def test_an_answer_that_is_none_becomes_502(answer: bytes) -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, GuardingProxy(Guard(HERE)) as proxy, through(proxy) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 502
        assert list(proxy.failed) == [("127.0.0.1", port)]


async def test_a_server_that_is_not_there_is_502_and_says_so() -> None:
    async with fake_server(lambda _: Answer()) as gone:
        pass
    async with GuardingProxy(Guard(HERE)) as proxy, through(proxy) as client:
        assert (await client.get(gone.url)).status_code == 502
        assert proxy.failed == {("127.0.0.1", gone.port): "The server does not answer"}
        assert proxy.refused == {}


async def test_requests_and_time_are_limited() -> None:
    async def hang(request: Request) -> Answer:
        await asyncio.Event().wait()
        return Answer()

    async with fake_server(hang) as server, GuardingProxy(Guard(HERE), max_requests=1, timeout=0.3) as proxy:
        async with through(proxy) as client:
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                await client.get(server.url)
            assert (await client.get(server.url)).status_code == 503
        with pytest.raises(ConnectionResetError):
            await say(proxy, "GET ")


async def test_when_the_proxy_ends_so_do_its_connections() -> None:
    asked = asyncio.Event()

    async def hang(request: Request) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        return Answer()

    async with fake_server(hang) as server, GuardingProxy(Guard(HERE)) as proxy, through(proxy) as client:
        waiting = asyncio.create_task(client.get(server.url))
        await asked.wait()
        await proxy.__aexit__(None, None, None)
        async with asyncio.timeout(20):
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                await waiting


async def test_when_the_proxy_ends_nobody_is_told_of_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever is connected then: a browser opens connections that it does not need."""
    async with GuardingProxy(Guard(HERE)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"GET ")
        # answered by the same server, so it has taken the first one too
        assert b"407" in await say(proxy, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
    with suppress(ConnectionResetError):
        await reader.read()
    writer.close()
    assert [record.getMessage() for record in caplog.records] == []
