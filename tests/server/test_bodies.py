"""Bodies that are too large, too slow, or not what they say: over real connections, from the attacker's side."""

import asyncio
import json

import pytest

from tests.kit.serving import KEY
from tests.server.api import Api
from tests.server.streaming import serving

_HEAD = f"POST /api/jobs HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAuthorization: Bearer {KEY}\r\n"


async def answer_to(port: int, *pieces: bytes, pause: float = 0.0) -> tuple[int, dict[str, object]]:
    """Sends the pieces until there is an answer, and reads it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(30):
            reading = asyncio.create_task(reader.readuntil(b"\r\n\r\n"))
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(pause)
                if reading.done():
                    break
            head = await reading
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return int(head[9:12]), json.loads(await reader.readexactly(length))
    finally:
        writer.close()


_OF_STRANGERS = {
    "/rest/v1/rpc/claim_tasks": "application/json", "/rest/v1/jobs": "application/json",
    "/storage/v1/object/sign/job-artifacts/x": "application/json", "/login": "application/x-www-form-urlencoded",
}  # fmt: skip


@pytest.mark.parametrize("path", _OF_STRANGERS)
async def test_nobody_waits_for_the_long_body_of_a_stranger(url: str, path: str) -> None:
    """Nor keeps it: a short one may be what a role without a name was granted, or how somebody signs in."""
    head = f"POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {_OF_STRANGERS[path]}\r\n"
    chunk = b"2000\r\n" + b" " * 8192 + b"\r\n"
    async with serving(url, body_timeout=100) as server:
        assert await status_of(server.port, f"{head}Content-Length: 20000\r\n\r\n".encode()) == 413
        assert await status_of(server.port, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 3) == 413
        if path != "/login":
            wrong = f"{head}Authorization: Bearer x.y.z\r\nContent-Length: 100\r\n\r\n"
            assert await status_of(server.port, wrong.encode()) == 401


async def status_of(port: int, sent: bytes) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(20):
            writer.write(sent)
            return int((await reader.readuntil(b"\r\n"))[9:12])
    finally:
        writer.close()


async def test_a_body_that_announces_too_much_is_refused_unread(url: str) -> None:
    async with serving(url, max_body=1000) as server:
        status, body = await answer_to(server.port, f"{_HEAD}Content-Length: 1001\r\n\r\n".encode())
        assert (status, body["status"]) == (413, 413)
        assert "1,000 bytes" in str(body["detail"])


async def test_a_body_without_a_length_is_cut_off_at_the_limit(url: str) -> None:
    async with serving(url, max_body=1000) as server:
        chunk = b"190\r\n" + b" " * 400 + b"\r\n"
        status, _ = await answer_to(server.port, f"{_HEAD}Transfer-Encoding: chunked\r\n\r\n".encode(), chunk * 3)
        assert status == 413


async def test_a_body_of_just_the_limit_is_read(url: str) -> None:
    async with serving(url, max_body=1000) as server:
        body = b'{"kind": "nothing"}'.ljust(1000)
        status, answer = await answer_to(server.port, f"{_HEAD}Content-Length: 1000\r\n\r\n".encode() + body)
        assert status == 422
        assert "no handler" in str(answer["detail"])


async def test_a_body_that_does_not_come_is_not_waited_for(url: str) -> None:
    async with serving(url, body_timeout=0.3) as server:
        status, body = await answer_to(server.port, f'{_HEAD}Content-Length: 100\r\n\r\n{{"kind"'.encode())
        assert (status, body["detail"]) == (408, "the body did not arrive in time")


async def test_a_body_that_drips_is_not_waited_for_either(url: str) -> None:
    """Each piece comes in time; all of them together do not."""
    async with serving(url, body_timeout=0.3) as server:
        head = f"{_HEAD}Content-Length: 10000\r\n\r\n".encode()
        status, _ = await answer_to(server.port, head, *([b" "] * 1000), pause=0.1)
        assert status == 408


@pytest.mark.parametrize("length", ["-5", "abc", "99999999999999999999"])
async def test_a_senseless_length_is_refused(url: str, length: str) -> None:
    async with serving(url) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{_HEAD}Content-Length: {length}\r\n\r\n".encode())
        async with asyncio.timeout(30):
            head = await reader.read(12)
        assert head[9:12] in (b"400", b"413")
        writer.close()


@pytest.mark.parametrize("length", [b"9" * 30, b"9" * 5000, b"-1", b"\xb2", b""])
async def test_so_it_is_where_the_server_below_does_not_look_at_it(api: Api, length: bytes) -> None:
    answer = await api.service.post("/api/jobs", content=b"{}", headers={"Content-Length": length})
    assert answer.status_code == 413


async def test_deep_nesting_and_broken_json_are_refused(url: str) -> None:
    async with serving(url) as server:
        for body in (
            b"[" * 100_000,
            b'{"kind": "x", "args": ' + b'{"a":' * 50_000,
            b'{"kind": ',
            b"\xff\xfe",
            b"nul",
        ):
            head = f"{_HEAD}Content-Length: {len(body)}\r\n\r\n".encode()
            status, _ = await answer_to(server.port, head + body)
            assert status in (400, 413, 422)
