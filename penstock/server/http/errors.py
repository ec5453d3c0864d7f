"""Every error as a problem: what the caller did wrong is named, what we did wrong is logged and not shown."""

import logging
from collections.abc import Sequence
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock import errors
from penstock.engine.postgres.errors import is_lost
from penstock.server.http.problems import Problem

log = logging.getLogger("penstock.server")

_RETRY_SOON = {"Retry-After": "2"}
_MOST_TOLD = 20
"""Of fields that are refused."""


def problem_of(error: Exception) -> Problem:
    """What an error means to a caller over HTTP. One that is nobody's mistake but ours is logged."""
    match error:
        case Problem():
            return error
        case errors.PayloadTooLarge():
            return Problem(413, str(error))
        case errors.InvalidInput():
            return invalid([(error.field, error.problem)])
        case errors.UnknownKind():
            return invalid([("kind", str(error))])
        case errors.NotAllowed():
            return Problem(403, str(error))
        case errors.LimitReached():
            told = {"which": error.which, "used": error.used, "limit": error.limit}
            return Problem(429, _told(error), headers={"Retry-After": str(max(1, int(error.retry_in)))}, **told)
        case errors.StorageFull():
            return Problem(507, _told(error), used=error.used, limit=error.limit)
        case errors.IdempotencyMismatch():
            return invalid([("Idempotency-Key", str(error))])
        case errors.UniqueKeyTaken() | errors.LeaseLost() | errors.NothingAsked():
            return Problem(409, str(error))
        case errors.EngineCannot():
            return Problem(501, str(error), capability=error.capability)
        case errors.UnknownJob():
            return Problem(404, str(error))
        case errors.RolesMissing():
            log.error("%s", error)
            return Problem(503, "the database is not ready for requests of users", headers=_RETRY_SOON)
        case errors.DatabaseReadOnly():
            log.error("%s", error)
            return Problem(503, "the database takes no writes at the moment", headers=_RETRY_SOON)
        case errors.NotMigrated():
            return Problem(503, "the database is not ready: run `penstock migrate`", headers=_RETRY_SOON)
        case RequestValidationError():
            found = error.errors()
            return invalid([_field(each) for each in found[:_MOST_TOLD]], len(found))
        case HTTPException():
            return Problem(error.status_code, str(error.detail), headers=error.headers)
        case psycopg.errors.ProgramLimitExceeded():
            return invalid([("", "a value is too long to be stored")])
        case psycopg.OperationalError() | psycopg.InterfaceError():
            if not is_lost(error):  # which is said once, where it is noticed
                log.warning("the database refused: %s", " ".join(str(error).split()))
            return Problem(503, "the database cannot be reached at the moment", headers=_RETRY_SOON)
        case TimeoutError():
            return Problem(503, "the database did not answer in time", headers=_RETRY_SOON)
        case errors.StoreFault():
            log.warning("%s", error)
            return Problem(503, "the store of files cannot be reached at the moment", headers=_RETRY_SOON)
        case errors.DatabaseUnavailable():
            # of jobs that are elsewhere
            return Problem(503, "the jobs cannot be reached at the moment", headers=_RETRY_SOON)
        case psycopg.errors.DataError():
            # what Postgres alone refuses, such as a number beyond any type of its own
            return invalid([("", "a value cannot be stored")])
    log.error("unexpected", exc_info=error)
    return Problem(500, "something went wrong here; it has been logged")


def invalid(problems: Sequence[tuple[str, str]], of: int = 0) -> Problem:
    """422, naming each field that is refused; of many, these."""
    told = "; ".join(f"{field}: {problem}" if field else problem for field, problem in problems)
    if of > len(problems):
        told += f"; and {of - len(problems):,} more"
    return Problem(422, told, errors=[{"field": field, "problem": problem} for field, problem in problems])


def install(api: FastAPI) -> None:
    """Renders whatever a route raises."""

    async def render(_: Request, error: Exception) -> Response:
        return problem_of(error).response()

    for kind in (Problem, errors.PenstockError, RequestValidationError, HTTPException, psycopg.Error, Exception):
        api.add_exception_handler(kind, render)


def _field(error: dict[str, Any]) -> tuple[str, str]:
    if error["type"] == "json_invalid":  # it names the place of a character as if that were a field
        return "body", f"is not JSON: {error['ctx']['error']}, at character {error['loc'][-1]}"
    where = [str(part) for part in error["loc"]]
    if where[0] in ("body", "query", "path", "header") and len(where) > 1:
        del where[0]
    return ".".join(where), error["msg"].removeprefix("Value error, ")


def _told(error: errors.PenstockError) -> str:
    """Without the name of the setting that it begins with: that is the operator's, not the user's."""
    text = str(error)
    return text.partition(": ")[2] or text
