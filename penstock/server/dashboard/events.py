"""GET /dashboard/events: what changes on a page that is open, as server-sent events."""

import time
from collections.abc import AsyncIterator

import msgspec
from starlette.responses import Response, StreamingResponse

from penstock.server.dashboard.live import Contact, Live, View
from penstock.server.dashboard.render import FORM_TOKEN
from penstock.server.dashboard.session import Session
from penstock.server.http.problems import Problem
from penstock.server.live.states import event
from penstock.storage.links import address

PATH = "/dashboard/events"
_KEEP_ALIVE = 15.0
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def stream(live: Live, session: Session, form_token: str, path: str, query: str) -> Response:
    if live.full:
        return Problem(503, "too many pages are open", headers={"Retry-After": "30"}).response()
    view = View(path, query, session.operates, address.get() or "")
    told = _tell(live, view, session.expires, form_token)
    return StreamingResponse(told, headers=_HEADERS, media_type="text/event-stream")


async def _tell(live: Live, view: View, expires: float, form_token: str) -> AsyncIterator[bytes]:
    """`regions` with the HTML of each that changed; `away` and `back` when the database is; `over` when there is no
    more to come, because the page or the session is gone."""
    watcher = live.join(view)
    contact = Contact.GOOD
    try:
        yield b"retry: 2000\n\n"
        while not watcher.left:
            left = expires - time.time()
            if left <= 0 or watcher.contact is Contact.GONE:
                yield event("over", b"{}")
                return
            regions = await watcher.next(min(_KEEP_ALIVE, left))
            if watcher.contact is not contact:
                contact = watcher.contact
                yield event("away" if contact is Contact.AWAY else "back", b"{}")
            if regions:
                theirs = {name: text.replace(FORM_TOKEN, form_token) for name, text in regions.items()}
                yield event("regions", msgspec.json.encode(theirs))
            else:
                yield b": keep-alive\n\n"
    finally:
        live.part(watcher)
