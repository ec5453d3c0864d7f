"""Errors in PostgREST's shape, {code, message, details, hint}, with its codes and statuses: clients read them."""

import logging

import msgspec
import psycopg
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock.engine.postgres.errors import is_lost
from penstock.errors import PenstockError
from penstock.server.auth.identity import Identity
from penstock.server.http.errors import problem_of
from penstock.server.http.problems import Problem

log = logging.getLogger("penstock.server")

JSON = "application/json; charset=utf-8"


class Refused(Exception):
    """Ends a request with this status and body."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: str | None = None,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = {"code": code, "message": message, "details": details, "hint": hint}

    def response(self) -> Response:
        return Response(msgspec.json.encode(self.body), self.status, self.headers, JSON)


def refused_of(error: Exception, caller: Identity | None) -> Refused:
    """What an error means to a caller."""
    match error:
        case Refused():
            return error
        case psycopg.errors.InsufficientPrivilege() if caller is None or caller.role == "anon":
            return Refused(401, "42501", _said(error), headers={"WWW-Authenticate": "Bearer"})
        case psycopg.Error() if error.sqlstate is not None and not is_lost(error):
            return _of_database(error, error.sqlstate, caller)
        case Problem() | HTTPException() | PenstockError() | psycopg.Error() | TimeoutError():
            problem = problem_of(error)
            return Refused(problem.status, code_of(problem.status), problem.detail, headers=problem.headers)
    log.error("unexpected", exc_info=error)
    return Refused(500, "PGRSTX00", "something went wrong here; it has been logged")


_CODES = {401: "PGRST301", 404: "PGRST125", 405: "PGRST117", 413: "54000", 503: "PGRST001"}


def code_of(status: int) -> str:
    """What PostgREST calls an error that is not the database's."""
    return _CODES.get(status, "PGRST100")


_STATUSES = {
    "42501": 403, "42883": 404, "42P01": 404, "25006": 405, "23503": 409, "23505": 409, "57014": 500,
    "PS002": 404, "PS003": 413, "PS004": 409, "PS005": 409, "PS006": 409, "PS007": 409, "PS010": 403,
    "PS011": 429, "PS012": 429, "PS013": 507, "PS014": 409,
}  # fmt: skip
_SAID = ("22", "23", "P0001", "PS", "42501", "42883", "42P01", "25006", "0A")
"""What is said of an error as the database says it; of any other it may be nobody's business."""


def _of_database(error: psycopg.Error, state: str, caller: Identity | None) -> Refused:
    if state.startswith(_SAID):
        # details may hold values of rows that the caller does not see
        details = error.diag.message_detail if caller is not None and caller.is_service else None
        status = _STATUSES.get(state, 400)
        return Refused(status, state, _said(error), details, error.diag.message_hint)
    if state == "57014":
        return Refused(500, state, "canceling statement due to statement timeout")
    if state.startswith(("08", "53", "57P")):
        log.warning("the database refused: %s", _said(error))
        return Refused(503, state, "the database cannot be reached at the moment", headers={"Retry-After": "2"})
    log.error("unexpected", exc_info=error)
    return Refused(500, state, "something went wrong here; it has been logged")


def _said(error: psycopg.Error) -> str:
    return error.diag.message_primary or "refused"
