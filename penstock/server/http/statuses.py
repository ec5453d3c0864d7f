"""Statuses as OpenAPI documents them, so that each route names all it may answer with."""

from http import HTTPStatus
from typing import Any

from penstock.server.http.problems import CONTENT_TYPE

_MEANINGS = {
    400: "The request cannot be read.",
    401: "No token, or one that does not verify.",
    403: "Not allowed to you.",
    404: "There is no such thing, or it is not yours.",
    408: "The body did not arrive in time.",
    409: "Not in its present state.",
    410: "Expired.",
    413: "The body or the arguments are too large.",
    415: "A kind of file that is not taken here.",
    422: "A field is refused; `errors` names it.",
    426: "The worker is of a version that is no longer served; the detail says what to do.",
    429: "Your quota is used up; Retry-After says when to come back.",
    502: "The site that was to be asked did not answer, or not well.",
    503: "The database cannot be reached; try again.",
    507: "Your artifacts take all the space you have.",
}

PROBLEM = {"$ref": "#/components/schemas/ProblemBody"}

_ALWAYS = (400, 401, 408, 413, 422, 503)
"""What any route that reads a request and asks the database may answer."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These, and what any route may answer."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {CONTENT_TYPE: {"schema": PROBLEM, "example": _example(status)}},
        }
        for status in sorted({*_ALWAYS, *statuses})
    }


def _example(status: int) -> dict[str, Any]:
    told = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": _MEANINGS[status]}
    if status != 422:
        return told
    refused = {"field": "args.document_id", "problem": "is missing"}
    return {**told, "detail": "args.document_id: is missing", "errors": [refused]}
