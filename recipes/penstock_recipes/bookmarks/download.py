"""Getting pages, pictures and icons that users named: through the guard, within limits, and with errors for people."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import httpx

from penstock.outbound import Fetched, Guard, NoAddress, Refused, TooLarge, guarded_client
from penstock_recipes.bookmarks.failures import NotThere, PageFailed, UnknownHost

Kind = Literal["html", "pdf", "image", "other"]

PICTURE = 20 * 1024 * 1024
ICON = 1024 * 1024
PDF = 50 * 1024 * 1024
HTML = 2 * 1024 * 1024
"""Bytes of each; what a page says of itself is in its head."""
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; penstock-bookmarks)", "Accept": "*/*"}
_ASK_AGAIN = (408, 425, 429)
_BY_TYPE: dict[str, Kind] = {"text/html": "html", "application/xhtml+xml": "html", "application/pdf": "pdf"}


@dataclass(frozen=True, slots=True)
class Looked:
    """What is at an address. The body is there only if it was wanted."""

    kind: Kind
    status: int
    url: str
    content_type: str
    body: bytes = field(repr=False)


async def look(guard: Guard, url: str, read: Kind, seconds: float) -> Looked:
    """Sees what is at an address, and reads no more than its headers unless it is of this kind. The seconds are for all
    of it, with the redirects on the way."""
    async with _asking(guard, url, PDF, seconds) as answer:
        kind = _kind_of(answer)
        body = bytearray()
        if answer.is_success and kind == read:
            async for piece in answer.aiter_bytes():
                body += piece
                if kind == "html" and len(body) >= HTML:
                    break
        return Looked(kind, answer.status_code, str(answer.url), answer.headers.get("content-type", ""), bytes(body))


async def get(guard: Guard, url: str, max_bytes: int, seconds: float) -> Fetched:
    """Everything that is at an address. NotThere when there is no such thing, PageFailed when it may come yet."""
    try:
        async with _asking(guard, url, max_bytes, seconds) as answer:
            refuse_failed(answer.status_code)
            body = await answer.aread()
    except TooLarge as error:
        raise NotThere(str(error)) from None
    return Fetched(answer.status_code, answer.headers, body, str(answer.url))


def refuse_gone(status: int) -> None:
    """What nobody would get, while other errors may be for programs alone."""
    if status in (404, 410):
        refuse_failed(status)


def refuse_failed(status: int) -> None:
    if status >= 500 or status in _ASK_AGAIN:
        raise PageFailed(f"HTTP {status}")
    if status >= 400:
        raise NotThere(f"HTTP {status}")


@asynccontextmanager
async def _asking(guard: Guard, url: str, max_bytes: int, seconds: float) -> AsyncIterator[httpx.Response]:
    try:
        async with (
            asyncio.timeout(seconds),
            guarded_client(
                guard, timeout=seconds, max_bytes=max_bytes, headers=_HEADERS, follow_redirects=True
            ) as client,
            client.stream("GET", url) as answer,
        ):
            yield answer
    except (TimeoutError, httpx.TimeoutException):
        raise PageFailed("Network timeout") from None
    except httpx.TooManyRedirects:
        raise NotThere("The page redirects for ever") from None
    except NoAddress as error:
        raise UnknownHost.of(error) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        # UnicodeError: a name like xn--a, which is the form of no other
        raise Refused(f"the URL cannot be read: {error}") from None
    except httpx.HTTPError as error:
        raise PageFailed(f"Network error: {error or type(error).__name__}") from None


def _kind_of(answer: httpx.Response) -> Kind:
    told = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if told.startswith("image/") and told != "image/svg+xml":
        return "image"
    if told in ("", "application/octet-stream", "binary/octet-stream"):
        # servers that do not know better
        return "pdf" if urlsplit(str(answer.url)).path.lower().endswith(".pdf") else "other"
    return _BY_TYPE.get(told, "other")
