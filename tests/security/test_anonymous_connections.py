"""Somebody without a token, on raw connections: costs no memory, holds nothing open, is answered at once."""

import errno
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from penstock.server.http.uvicorn import room_for
from penstock.testing.database import throw_away
from tests.security.process import Served, read_answer, served, token

TIMEOUT = 1.0
MOST = 40


@pytest.fixture(scope="module")
def shop(server: str, template: str) -> Iterator[Served]:
    with (
        throw_away(server, template) as url,
        served(
            url,
            open_files=MOST,  # the server must ask for more
            PENSTOCK_HEADER_TIMEOUT=str(TIMEOUT),
            PENSTOCK_IDLE_TIMEOUT=str(TIMEOUT),
            PENSTOCK_BODY_TIMEOUT=str(TIMEOUT),
            PENSTOCK_WRITE_TIMEOUT=str(TIMEOUT),
            PENSTOCK_MAX_CONNECTIONS=str(MOST),
        ) as shop,
    ):
        yield shop


def flood(shop: Served, start: bytes, piece: bytes, megabytes: int) -> int:
    """The status that ends it."""
    with shop.open(start) as opened:
        with suppress(ConnectionError):
            for _ in range(megabytes * 2**20 // len(piece)):
                opened.sendall(piece)
        return read_answer(opened).status


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET / HTTP/1.1\r\n", b"a:\r\n" * 16384),
        (b"GET / HTTP/1.1\r\na: ", b"a" * 65536),
        (b"GET /", b"a" * 65536),
        (
            b"POST /api/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer "
            + token().encode()
            + b"\r\n\r\n1\r\n{\r\n0\r\n",
            b"a:\r\n" * 16384,
        ),
    ],
    ids=["tiny headers", "one header", "an address", "trailers"],
)
def test_headers_without_end_are_refused_and_cost_no_memory(shop: Served, start: bytes, piece: bytes) -> None:
    before = shop.memory
    # 0: the connection was reset while we were writing
    assert flood(shop, start, piece, megabytes=20) in (431, 0)
    assert shop.memory < before + 20


def test_who_sends_too_many_headers_is_told(shop: Served) -> None:
    many = b"".join(b"h%d: 1\r\n" % n for n in range(101))
    with shop.open(b"GET /healthz HTTP/1.1\r\n" + many + b"\r\n") as opened:
        answer = read_answer(opened)
    assert (answer.status, answer.headers["content-type"]) == (431, "application/problem+json")
    assert b"more than 100 headers" in answer.body
    few = {f"h{n}": "1" for n in range(90)}
    assert shop.ask("GET", "/healthz", **few).status == 200


def ended_within(opened: socket.socket, seconds: float) -> bool:
    began = time.monotonic()
    read_answer(opened)
    return time.monotonic() - began < seconds


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /api/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{",
        b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{",
        b"POST /api/jobs HTTP/1.1\r\nContent-Length: 99\r\nAuthorization: Bearer " + token().encode() + b"\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a head", "half a second", "idle", "a stranger's body", "no route", "a body"],
)
def test_what_is_half_sent_does_not_stay_open(shop: Served, sent: bytes) -> None:
    with shop.open(sent) as opened:
        # what is left over of a body may take five seconds
        assert ended_within(opened, TIMEOUT + 6.5)


def test_who_does_not_read_is_cut_off_and_who_reads_slowly_is_not(shop: Served) -> None:
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 31
    asked += b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with ExitStack() as stack:
        silent, slow = (stack.enter_context(socket.socket()) for _ in range(2))
        for opened in (silent, slow):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.settimeout(20)
            opened.connect(("127.0.0.1", shop.port))
            opened.sendall(asked)
        cut = select.poll()
        cut.register(silent, 0)  # which tells of nothing but its end
        read = 0
        while not cut.poll(50) and read < 100_000:
            read += len(slow.recv(2000))
        assert silent.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET
        assert read > 10 * 2000
        *_, last = iter(lambda: slow.recv(65536), b"")
        assert last.endswith(b'{"status":"ok"}')


def test_a_body_is_not_waited_for_before_the_token_is_looked_at(shop: Served) -> None:
    for path in ("/api/jobs", "/api/jobs/batch", "/api/jobs/tick", "/api/work/open-lease"):
        for authorization in (b"", b"Authorization: Bearer nonsense\r\n"):
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nContent-Type: application/json\r\n"
            with shop.open(head.encode() + authorization + b"\r\n{") as opened:
                opened.settimeout(TIMEOUT / 2)
                assert opened.recv(12) == b"HTTP/1.1 401"


def test_connections_are_counted(shop: Served) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(shop.open(b"GET /he")) for _ in range(MOST)]
        with shop.open(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as one_more:
            assert read_answer(one_more).status == 503
        assert held
    # those that are left make room
    began = time.monotonic()
    while shop.ask("GET", "/healthz").status != 200:
        assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("limits", "asked", "room"),
    [((1024, 20_000), [10_240], 10_000), ((1024, 4096), [4096], 3856), ((256, 256), [], 128), ((-1, -1), [], 10_000),
     ((1024, -1), [10_240], 10_000), ((65_536, 65_536), [], 10_000)],
)  # fmt: skip
def test_there_are_no_more_connections_than_open_files(
    limits: tuple[int, int],
    asked: list[int],
    room: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Or the last one would keep the server from its database. Whoever gets fewer than were set is told."""
    set_to: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: set_to.append(given[0]))
    assert room_for(10_000) == room
    assert set_to == asked
    told = [record.args for record in caplog.records]
    assert told == ([] if room == 10_000 else [((asked or limits)[0], room, 10_000)])


def test_many_requests_at_once_on_one_connection_end_it(shop: Served) -> None:
    with shop.open(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n" * 2000) as opened:
        read_answer(opened)
    assert shop.ask("GET", "/healthz").status == 200
