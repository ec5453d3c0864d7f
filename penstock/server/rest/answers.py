"""Answers: JSON that Postgres made, as a list, as one row of it, or as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from penstock.engine.postgres.statement import Row
from penstock.server.rest.catalog import MAX_BYTES
from penstock.server.rest.errors import JSON, Refused

SINGLE = "application/vnd.pgrst.object+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """JSON text, and of how many rows; of how many there are, if that was asked for."""

    body: str
    rows: int
    of: int | None = None

    def response(
        self, status: int = 200, *, single: bool = False, headers: Mapping[str, str] | None = None
    ) -> Response:
        if single:
            return Response(self.body.strip()[1:-1], status, headers, f"{SINGLE}; charset=utf-8")
        return Response(self.body, status, headers, JSON)


def read_answer(rows: Sequence[Row]) -> Answer:
    body, count, *of = rows[0]
    if body is None:
        raise Refused(413, "54000", f"the answer is over {MAX_BYTES:,} bytes: ask for fewer rows or columns")
    return Answer(body, count, *of)


def as_list(rows: str) -> str:
    """A statement's text that makes a JSON array of a query's rows, and none of one that is too large."""
    return (
        f"select case when coalesce(sum(octet_length(row)), 0) <= {MAX_BYTES} "  # noqa: S608 - of our own words
        f"then '[' || coalesce(string_agg(row, ','), '') || ']' end, count(*) from ({rows}) as found (row)"
    )


def wants_one(request: Request) -> bool:
    """As supabase-js asks by .single()."""
    return SINGLE in request.headers.get("accept", "")


def refuse_many_or_none(rows: int) -> None:
    if rows != 1:
        message = "Cannot coerce the result to a single JSON object"
        raise Refused(406, "PGRST116", message, f"The result contains {rows} rows")


def preferences(request: Request) -> list[str]:
    """What the header Prefer says. A count that would only be guessed is refused."""
    asked = [each.strip() for each in request.headers.get("prefer", "").split(",")]
    for each in asked:
        if each.startswith("count=") and each != EXACT:
            raise Refused(400, "PGRST100", f"Prefer: {each[:63]} is not understood here, but {EXACT} is")
    return asked


EXACT = "count=exact"
