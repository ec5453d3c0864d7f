"""A small website on loopback: pages, pictures, a PDF; and whatever goes wrong with websites."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from tests.kit.fake_http import Answer, FakeServer, Request, fake_server

Answering = Answer | Callable[[Request], Awaitable[Answer] | Answer]

NOT_HERE = Answer(404, b"not here")
TEXT = "PENSTOCK 42"
SIZE = (400, 200)


@cache
def card() -> bytes:
    """A PNG with something to read."""
    image = Image.new("RGB", SIZE, "white")
    ImageDraw.Draw(image).text((40, 70), TEXT, fill="black", font=ImageFont.load_default(48))
    return _saved(image, "PNG")


@cache
def icon() -> bytes:
    return _saved(Image.new("RGB", (32, 32), "teal"), "PNG")


@cache
def pdf() -> bytes:
    """Two pages."""
    pages = [Image.new("RGB", (200, 280), colour) for colour in ("navy", "white")]
    file = io.BytesIO()
    pages[0].save(file, "PDF", save_all=True, append_images=pages[1:], title="Annual report")
    return file.getvalue()


def _saved(image: Image.Image, form: str) -> bytes:
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def html(title: str, *head: str) -> Answer:
    page = (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title>{''.join(head)}</head><h1>{title}</h1>"
    )
    return Answer(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})


def picture(data: bytes) -> Answer:
    return Answer(200, data, {"Content-Type": "image/png"})


def is_browser(request: Request) -> bool:
    return "Chrome" in request.headers.get("user-agent", "")


PAGES: dict[str, Answering] = {
    "/": html(
        "Penstock & co",
        '<meta name="description" content="A gated pipe.">',
        '<meta property="og:image" content="/card.png">',
        '<link rel="icon" href="/icon.png">',
    ),
    "/plain": html("Nothing to add"),
    "/card.png": picture(card()),
    "/icon.png": picture(icon()),
    "/report.pdf": Answer(200, pdf(), {"Content-Type": "application/pdf"}),
}


@dataclass
class Site:
    """`answers` may be changed at any time; a path with a query answers as the path does."""

    server: FakeServer
    answers: dict[str, Answering]
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, path: str) -> str:
        return self.server.at("127.0.0.1", path)

    def hits(self, path: str, *, by_browser: bool | None = None) -> int:
        """How often it was asked for: by anybody, by a browser, or by anything else."""
        return sum(
            request.path.partition("?")[0] == path and by_browser in (None, is_browser(request))
            for request in self.server.requests
        )

    async def is_asked_for(self, path: str, within: float = 30.0) -> None:
        async with asyncio.timeout(within):
            while not self.hits(path):
                self.asked.clear()
                await self.asked.wait()

    def hang(self, path: str) -> asyncio.Event:
        """From now on this path is answered when the event is set."""
        go_on, before = asyncio.Event(), self.answers.get(path, NOT_HERE)

        async def late(request: Request) -> Answer:
            await go_on.wait()
            return await answered(before, request)

        self.answers[path] = late
        return go_on


async def answered(answering: Answering, request: Request) -> Answer:
    if isinstance(answering, Answer):
        return answering
    answer = answering(request)
    return answer if isinstance(answer, Answer) else await answer


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    async def answer(request: Request) -> Answer:
        site.asked.set()
        return await answered(site.answers.get(request.path.partition("?")[0], NOT_HERE), request)

    async with fake_server(answer) as server:
        site = Site(server, dict(PAGES))
        yield site
