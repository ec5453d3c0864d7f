"""A small website for the demonstration: two pages, a picture and a PDF, on this machine, for as long as it takes."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from penstock.outbound import Guard

if TYPE_CHECKING:
    from PIL import Image

HOST, PORT = "127.0.0.1", 47823
SITE = f"http://{HOST}:{PORT}"
PAGES = {"A page": "/", "Another page": "/history", "A picture": "/dam.png", "A PDF": "/report.pdf"}
NEED_A_BROWSER = ("/", "/history")

_PAGE = """<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>
<meta name=description content="{description}"><meta property="og:image" content="{picture}">
<link rel=icon href="/icon.png"><style>
body {{ margin: 0; font: 22px/1.6 sans-serif; color: #0f2a3d; background: linear-gradient(#e8f4f8, #fff) }}
header {{ padding: 90px 120px; background: #12506b; color: white }} h1 {{ font-size: 72px; margin: 0 }}
main {{ display: grid; grid-template-columns: 2fr 1fr; gap: 60px; padding: 50px 120px }} img {{ width: 100% }}
</style></head><body><header><h1>{title}</h1>{description}</header>
<main><p>{text}</p><p><img src="{picture}" alt=""></p></main></body></html>"""


def guard_for_demo() -> Guard:
    """As strict as ever, but for the demonstration's own website: this machine, and of it this port."""
    return Guard([HOST], ports=(80, 443, PORT))


@asynccontextmanager
async def website() -> AsyncIterator[None]:
    """Serves it. OSError when its port is taken."""
    pages = await asyncio.to_thread(_made)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode("latin-1").partition("?")[0]
            kind, body = pages.get(path, ("text/plain", b"not here"))
            status = "200 OK" if path in pages else "404 Not Found"
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, HOST, PORT):
        yield


def _made() -> Mapping[str, tuple[str, bytes]]:
    """Each page, with its type."""
    from PIL import Image

    dam, sheet = _card("THE OLD DAM", "#12506b", "#8fd3e8"), _card("HISTORY", "#5b3a12", "#f0d9a8")
    cover = Image.new("RGB", (1240, 1754), "white")
    cover.paste(_card("ANNUAL REPORT", "#1d4d2b", "#bfe6c6"), (20, 300))
    pages = {
        "/": ("The Old Dam", "Four turbines, one penstock, since 1911.", "/dam.png"),
        "/history": ("A History of Water", "How the valley got its light.", "/history.png"),
    }
    text = "A penstock is the gated pipe that feeds water from a reservoir to a turbine. " * 8
    return {
        path: (
            "text/html; charset=utf-8",
            _PAGE.format(title=title, description=told, picture=image, text=text).encode(),
        )
        for path, (title, told, image) in pages.items()
    } | {
        "/dam.png": ("image/png", _saved(dam, "PNG")),
        "/history.png": ("image/png", _saved(sheet, "PNG")),
        "/icon.png": ("image/png", _saved(dam.resize((48, 48)), "PNG")),
        "/report.pdf": ("application/pdf", _saved(cover, "PDF")),
    }


def _card(title: str, dark: str, light: str) -> "Image.Image":
    """1200 × 630, as social networks like it."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (1200, 630), dark)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 430, 1200, 630), light)
    for left in range(100, 1100, 250):
        draw.ellipse((left, 460, left + 140, 600), outline=dark, width=14)
    draw.text((100, 180), title, light, ImageFont.load_default(110))
    return image


def _saved(image: "Image.Image", form: str) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **({"title": "Annual report of the Old Dam"} if form == "PDF" else {}))
    return file.getvalue()
