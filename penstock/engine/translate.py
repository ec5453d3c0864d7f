"""The engine's SQL errors as ours. A driver's own errors pass through as they are."""

import re

from penstock import errors

_BY_STATE: dict[str, type[errors.PenstockError]] = {
    "PS001": errors.InvalidInput,
    "PS002": errors.UnknownJob,
    "PS003": errors.PayloadTooLarge,
    "PS004": errors.LeaseLost,
    "PS005": errors.IdempotencyMismatch,
    "PS006": errors.UniqueKeyTaken,
}
_BY_CONSTRAINT: dict[str, tuple[type[errors.InvalidInput], str, str]] = {
    "args_fit": (errors.PayloadTooLarge, "args", "over 1 MiB; put large data into an artifact and pass its path"),
    "jobs_pkey": (errors.DuplicateKey, "id", "a job with this id exists; prepare each job anew"),
}
_FIELD = re.compile(r"([\w.-]+): (.*)", re.DOTALL)


def sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE of an error of psycopg, psycopg2, asyncpg, or of one SQLAlchemy or Django wrapped."""
    seen: BaseException | None = error
    while seen is not None:
        state = getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None)
        if isinstance(state, str):
            return state
        seen = getattr(seen, "orig", None) or seen.__cause__
    return None


def translate(error: Exception, schema: str) -> errors.PenstockError | None:
    """Our error for a driver's, if the engine raised it."""
    state = sqlstate(error)
    if state in ("3F000", "42P01", "42883") and schema in str(error):
        return errors.NotMigrated(
            f"schema {schema!r} is missing or older than this version of Penstock; run `penstock migrate` "
            f"({_message(error)})"
        )
    if state in ("23505", "23514"):
        for constraint, (refusal, field, problem) in _BY_CONSTRAINT.items():
            if f'"{constraint}"' in str(error):
                return refusal(field, problem)
    kind = _BY_STATE.get(state or "")
    if kind is None:
        return None
    message = _message(error)
    if issubclass(kind, errors.InvalidInput):
        parts = _FIELD.fullmatch(message)
        return kind(*parts.groups()) if parts else kind("", message)
    return kind(message)


def _message(error: Exception) -> str:
    diagnostics = getattr(getattr(error, "orig", None) or error, "diag", None)
    primary = getattr(diagnostics, "message_primary", None)
    return primary or str(error).splitlines()[0].removeprefix("ERROR:").strip()
