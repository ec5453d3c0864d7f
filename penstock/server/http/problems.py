"""Errors as application/problem+json (RFC 9457): what went wrong and what to do, never SQL, paths or secrets."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

CONTENT_TYPE = "application/problem+json"


class Problem(Exception):
    """Ends a request with this status. `detail` is for the caller's eyes; `extra` becomes members of the body."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **extra: object) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.extra = extra

    def response(self) -> Response:
        """As application/problem+json."""
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.extra,
        }
        return Response(msgspec.json.encode(body), self.status, self.headers, CONTENT_TYPE)


def not_found() -> Problem:
    """One answer for what does not exist and for what is somebody else's: existence is not revealed."""
    return Problem(404, "there is no such job, or it is not yours")
