"""What several of the routes answer: events of a stream, and what a user has too much of."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager

import msgspec
from starlette.responses import StreamingResponse

from penstock import LimitReached, StorageFull
from penstock.server import Problem
from penstock_recipes.exports.faults import storage_words


def event(name: str, told: Mapping[str, object]) -> bytes:
    """One of a stream's."""
    return f"event: {name}\ndata: ".encode() + msgspec.json.encode(told) + b"\n\n"


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


@contextmanager
def within_quotas() -> Iterator[None]:
    """What a user has too much of, in words about exports."""
    try:
        yield
    except StorageFull as error:
        told, used, limit = storage_words(error)
        raise Problem(507, told, usedMB=round(used, 2), limitMB=round(limit, 2)) from None
    except LimitReached as error:
        wait = {"Retry-After": str(max(1, int(error.retry_in)))}
        if error.which == "per_day":
            told = f"Daily export limit reached ({error.limit} exports a day). Please try again tomorrow (UTC)."
            raise Problem(429, told, headers=wait) from None
        raise Problem(429, "Export queue full. Please wait for current exports to complete.", headers=wait) from None
