"""Getting what is at a URL that a user gave."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from penstock.outbound.guard import Guard, Refused
from penstock.outbound.transport import MAX_BYTES, guarded_client


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer, all of it. `url` is where it came from in the end."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str

    @property
    def ok(self) -> bool:
        """Whether the status says that all went well."""
        return 200 <= self.status < 300


async def fetch(
    through: Guard | httpx.AsyncClient,
    url: str,
    *,
    max_bytes: int = MAX_BYTES,
    timeout: float = 30.0,  # noqa: ASYNC109  (with the redirects, and told to the transport)
    headers: Mapping[str, str] | None = None,
) -> Fetched:
    """Gets a URL through a guard (then redirects are followed, each hop guarded) or a guarded client (as it is set).

    Raises Refused for where it may not go, TooLarge, and httpx.HTTPError for what goes wrong on the way.
    """
    if isinstance(through, Guard):
        async with guarded_client(through, follow_redirects=True) as client:
            return await fetch(client, url, max_bytes=max_bytes, timeout=timeout, headers=headers)
    limits = {"max_bytes": max_bytes, "total": timeout}
    try:
        async with (
            asyncio.timeout(timeout),
            through.stream("GET", url, headers=dict(headers or {}), extensions=limits) as response,
        ):
            body = await response.aread()
    except TimeoutError:
        raise httpx.ReadTimeout("the answer did not end in time") from None
    except UnicodeError:
        # httpx decodes names like xn--a and lets this through
        raise Refused("the URL's host is not a name; write it as https://example.com/path") from None
    return Fetched(response.status_code, response.headers, body, str(response.url))
