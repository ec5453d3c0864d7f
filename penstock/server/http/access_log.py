"""What a server may write of an address into its access log: no secret that was in it."""

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.mask import is_secret

_OURS = frozenset({"watch", "once", "signature"})
"""Secret parameters whose names do not say so, as `access_token` does."""


class KeptFromLogs:
    """Takes secrets out of the address once it was read. Servers write their access log as an answer begins, from this
    very scope, whatever the answer is: so this is around all that answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_scrubbed(message: Message) -> None:
            if message["type"] != "http.response.body":
                _scrub(scope)
            await send(message)

        try:
            await self._app(scope, receive, send_scrubbed)
        finally:
            _scrub(scope)  # what was not answered here is above


def without_secrets(query: bytes) -> bytes:
    """An address's query as a log may have it."""
    return b"&".join(map(_without_secret, query.split(b"&"))) if b"=" in query else query


def _without_secret(parameter: bytes) -> bytes:
    name, equals, _ = parameter.partition(b"=")
    said = unquote_plus(name.decode("latin-1"))
    return name + b"=..." if equals and (said in _OURS or is_secret(said)) else parameter


def _scrub(scope: MutableMapping[str, Any]) -> None:
    if query := scope.get("query_string"):
        scope["query_string"] = without_secrets(query)
