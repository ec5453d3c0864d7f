"""A stranger names a URL: neither httpx nor Chromium reaches anything of ours through it, now or later.

Pages are served on 127.0.0.2, which the guard allows. On 127.0.0.1 and ::1 a canary counts whoever comes."""

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape

import httpx
import pytest

from bookmarks.browser_cases import INNER, NAMES, OTHER_SCHEMES
from bookmarks.browser_looking import PAGES, Served, needs_chromium, pages
from penstock.outbound import Guard, Refused, fetch
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.providers.browser import Browser
from tests.kit.fake_http import Answer


@dataclass
class Canary:
    port: int = 0
    visits: list[str] = field(default_factory=list)

    def at(self, url: str) -> str:
        return url.replace("{port}", str(self.port))


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, canary: Canary) -> None:
        self.canary = canary

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.canary.visits.append(f"UDP {data[:40]!r}")


@asynccontextmanager
async def watching() -> AsyncIterator[Canary]:
    """Whatever arrives on loopback at a port, by TCP or UDP. The block must end without a visit."""
    canary = Canary()

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        canary.visits.append(f"TCP {await reader.read(200)!r}")
        writer.close()

    servers = [await asyncio.start_server(visited, "127.0.0.1", 0)]
    canary.port = servers[0].sockets[0].getsockname()[1]
    for other in ("127.0.0.3", *(["::1"] if socket.has_ipv6 else [])):
        try:
            servers.append(await asyncio.start_server(visited, other, canary.port))
        except OSError:
            assert other == "::1", "a machine without IPv6"
    datagrams, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Datagrams(canary), local_addr=("127.0.0.1", canary.port)
    )
    try:
        yield canary
    finally:
        datagrams.close()
        for server in servers:
            server.close()
    assert canary.visits == []


async def resolve(host: str, port: int) -> Sequence[str]:
    return NAMES.get(host, [])


def guard() -> Guard:
    return Guard([PAGES], resolve=resolve)


@pytest.mark.parametrize("url", [*INNER, *OTHER_SCHEMES])
async def test_httpx_refuses_it(url: str) -> None:
    async with watching() as canary:
        with pytest.raises((Refused, httpx.InvalidURL, httpx.UnsupportedProtocol)):
            await fetch(guard(), canary.at(url), timeout=10)


@pytest.mark.parametrize("url", [*INNER, *OTHER_SCHEMES])
async def test_the_browser_is_not_even_started_for_it(url: str) -> None:
    async with watching() as canary:
        with pytest.raises(Refused):
            await Browser(guard(), executable="/bin/false").capture(canary.at(url))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_httpx_refuses_to_be_sent_there(status: int) -> None:
    async with watching() as canary:
        for url in (*INNER, *OTHER_SCHEMES[:6]):
            sent = Answer(status, headers={"Location": canary.at(url).encode().decode("latin-1")})
            async with pages({"/": sent}) as server:
                with pytest.raises((Refused, httpx.HTTPError, httpx.InvalidURL)):
                    await fetch(guard(), server.url, timeout=10)


def sending(url: str) -> list[Served]:
    """Ways to send a page as a whole somewhere else."""
    return [
        *(Answer(status, headers={"Location": url}) for status in (301, 302, 303, 307, 308)),
        Answer(body=b"<p>moving", headers={"Refresh": f"0; url={url}", "Content-Type": "text/html"}),
        f"<meta http-equiv=refresh content='0; url={url}'>",
        f"<script>location = {json.dumps(url)}</script>",
        f"<script>onload = () => setTimeout(() => location.replace({json.dumps(url)}), 100)</script>",
        f"<form action='{url}' method=post><input name=a></form><script>document.forms[0].submit()</script>",
    ]


@needs_chromium
@pytest.mark.parametrize(
    "way", [1, 6, 7, *(pytest.param(way, marks=pytest.mark.slow) for way in (0, 2, 3, 4, 5, 8, 9))]
)
async def test_chromium_refuses_to_be_sent_there(way: int) -> None:
    targets = ["http://2130706433:{port}/", "https://inner.invalid:{port}/", "http://169.254.169.254/"]
    async with watching() as canary, pages({"/": sending(canary.at(targets[way % 3]))[way]}) as server:
        with pytest.raises(Refused, match=r"leads to a (loopback|link-local) address"):
            await Browser(guard(), timeout=15).capture(server.at("outer.invalid"))


@needs_chromium
@pytest.mark.parametrize("target", [
    "file:///etc/passwd", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_SCHEMES[2:8]),
])  # fmt: skip
async def test_chromium_refuses_to_leave_the_web(target: str) -> None:
    async with watching() as canary:
        sent = Answer(302, headers={"Location": canary.at(target)})
        async with pages({"/": sent}) as server:
            with pytest.raises((Refused, PageFailed)):
                await Browser(guard(), timeout=15).capture(server.url)


# each fetches @@; the harmless page's own server sees which of them a browser really takes
PARTS = {
    "image": "<img src='@@'>", "frame": "<iframe src='@@'></iframe>", "object": "<object data='@@'></object>",
    "embed": "<embed src='@@'>", "style": "<link rel=stylesheet href='@@'>", "import": "<style>@import '@@';</style>",
    "background": "<p style='background: url(@@)'>x</p>", "video": "<video src='@@'></video>",
    "prefetch": "<link rel=prefetch href='@@'>", "preload": "<link rel=preload as=image href='@@'>",
    "preconnect": "<link rel=preconnect href='@@'><link rel=dns-prefetch href='@@'>",
    "script": "<script src='@@'></script>", "module": "<script type=module>import('@@').catch(() => 0)</script>",
    "fetch": "<script>fetch('@@', {mode: 'no-cors'}).catch(() => 0)</script>",
    "xhr": "<script>x = new XMLHttpRequest(); x.open('GET', '@@'); x.send()</script>",
    "beacon": "<script>navigator.sendBeacon('@@', 'x')</script>", "events": "<script>new EventSource('@@')</script>",
    "socket": "<script>new WebSocket('@@'.replace('http', 'ws'))</script>", "window": "<script>open('@@')</script>",
    "font": "<style>@font-face { font-family: f; src: url(@@) } b { font-family: f }</style><b>x</b>",
    "svg": "<svg><image href='@@' width=9 height=9 /></svg>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('@@', {mode: 'no-cors'})`])))</script>",
    "written": "<iframe srcdoc=\"<img src='@@'>\"></iframe>",
    "refreshed": "<iframe srcdoc=\"<meta http-equiv=refresh content='0; url=@@'>\"></iframe>",
    "form": "<iframe name=f></iframe><form target=f action='@@'></form><script>document.forms[0].submit()</script>",
}  # fmt: skip
NOT_FETCHED = {"preconnect", "window"}
"""What the harmless page's server does not see: a connection without a request, and a window that is not opened."""


@needs_chromium
@pytest.mark.parametrize("program", [None, pytest.param("chromium", marks=pytest.mark.slow)])
async def test_no_part_of_a_page_reaches_there_and_the_page_is_seen_all_the_same(program: str | None) -> None:
    executable = program and shutil.which(program)
    if program and not executable:
        pytest.skip(f"needs {program}, whose switches differ")
    served: dict[str, Served] = {f"/own/{name}": Answer(headers={"Content-Type": "text/plain"}) for name in PARTS}
    async with watching() as canary, pages(served) as server:
        inner = [canary.at(url) for url in ("http://127.0.0.1:{port}/x", "http://inner.invalid:{port}/x")]
        parts = [part.replace("@@", server.at(PAGES, f"/own/{name}")) for name, part in PARTS.items()]
        parts += [part.replace("@@", url) for part in PARTS.values() for url in inner]
        # every spelling, as only a browser reads it
        parts += [f'<img src="{escape(canary.at(url))}">' for url in (*INNER, *OTHER_SCHEMES)]
        parts += ["<script>", _SERVICE_WORKER, canary.at(_STUN), "</script>"]
        served["/"] = "<title>seen</title>" + "".join(parts)
        service = canary.at("fetch('http://127.0.0.1:{port}/service')").encode()
        served["/service.js"] = Answer(body=service, headers={"Content-Type": "text/javascript"})
        capture = await Browser(guard(), executable=executable, timeout=20).capture(server.url)
    assert capture.title == "seen"
    taken = {request.path.partition("?")[0] for request in server.requests} & served.keys()
    assert taken == {"/"} | {f"/own/{name}" for name in PARTS.keys() - NOT_FETCHED} | {"/service.js"}


_SERVICE_WORKER = "navigator.serviceWorker && navigator.serviceWorker.register('/service.js').catch(() => 0);"
_STUN = """
const call = new RTCPeerConnection({iceServers: [{urls: ['stun:127.0.0.1:{port}', 'stun:localhost:{port}']},
  {urls: ['turn:127.0.0.1:{port}?transport=tcp', 'turn:127.0.0.1:{port}'], username: 'a', credential: 'b'}]});
call.createDataChannel('x'); call.createOffer().then(offer => call.setLocalDescription(offer));
"""


@needs_chromium
async def test_a_name_that_changes_its_answer_gains_nothing_in_chromium() -> None:
    """Harmless whenever it is checked, and inner the next time that it is looked up."""
    asked: list[str] = []

    async def changing(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        # 1: before the browser starts; 2: its document; 3: what the page's script asks for
        return [PAGES] if len(asked) < 3 else ["127.0.0.1"]

    async with watching() as canary:
        script = (
            "fetch('/secret').then(a => a.text(), () => 'nothing').then(text => { document.title = 'got ' + text })"
        )
        async with pages({"/": f"<title>x</title><script>{script}</script>"}) as server:
            url = server.at("changing.invalid")
            capture = await Browser(Guard([PAGES], resolve=changing), timeout=20).capture(url)
    # refused by the proxy: an answer without content
    assert capture.title == "got"
    assert set(asked) == {"changing.invalid"}
    assert [request.path for request in server.requests] == ["/"]
    assert canary.visits == []


@needs_chromium
async def test_a_name_that_has_turned_inner_by_the_time_the_browser_asks_is_refused() -> None:
    asked: list[str] = []

    async def changing(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return [PAGES] if len(asked) < 2 else ["127.0.0.1"]

    async with watching() as canary:
        with pytest.raises(Refused, match=r"changing\.invalid leads to a loopback address"):
            await Browser(Guard([PAGES], resolve=changing)).capture(canary.at("http://changing.invalid:{port}/"))
