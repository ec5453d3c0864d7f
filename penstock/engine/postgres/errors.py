"""The engine's SQL errors as ours. A driver's own errors pass through as they are."""

import re
from typing import Any

import msgspec
import psycopg

from penstock import errors
from penstock.engine.faults import Faults, no_answer

_BY_STATE: dict[str, type[errors.PenstockError]] = {
    "PS001": errors.InvalidInput,
    "PS002": errors.UnknownJob,
    "PS003": errors.PayloadTooLarge,
    "PS004": errors.LeaseLost,
    "PS005": errors.IdempotencyMismatch,
    "PS006": errors.UniqueKeyTaken,
    "PS007": errors.ArtifactExists,
    "PS010": errors.NotAllowed,
    "PS011": errors.LimitReached,
    "PS012": errors.LimitReached,
    "PS013": errors.StorageFull,
    "PS014": errors.NothingAsked,
}
_TAKEN = re.compile(r'"(jobs|payloads_\w+)_pkey"')
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


def is_lost(error: BaseException) -> bool:
    """Whether the connection, or the server behind it, went away: what was asked for may be asked again."""
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        state = sqlstate(error)
        return state is None or state.startswith(("08", "57P"))
    return no_answer(error)


FAULTS = Faults(
    passing=(psycopg.Error, OSError),
    unstorable=(psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, ValueError, TypeError),
    is_lost=is_lost,
)


class PostgresUnavailable(errors.DatabaseUnavailable, psycopg.OperationalError):
    """For whoever catches what psycopg raises, too."""


class PostgresReadOnly(errors.DatabaseReadOnly, psycopg.errors.ReadOnlySqlTransaction):
    """For workers, too, who wait for a leader as for whatever else passes."""

    def __init__(self) -> None:
        super().__init__(
            "the database takes no writes: it is a standby, or the transaction may only read. DATABASE_URL must name "
            "the leader; of several hosts, ?target_session_attrs=read-write finds it"
        )


def takes_no_writes(error: Exception) -> bool:
    """On a standby it may also be that an unlogged table cannot even be read, by where that is raised: other features
    that are not there have the same state."""
    state = sqlstate(error)
    place = getattr(_diagnostics(error), "source_function", None)
    return state == "25006" or (state == "0A000" and place == "get_relation_info")


def translate(error: Exception, schema: str) -> errors.PenstockError | None:
    """Our error for a driver's, if the engine raised it."""
    if takes_no_writes(error):
        return PostgresReadOnly()
    state = sqlstate(error)
    if state in ("3F000", "42P01", "42883") and schema in str(error):
        return errors.NotMigrated(
            f"schema {schema!r} is missing or older than this version of Penstock; run `penstock migrate` "
            f"({_message(error)})"
        )
    if state == "23505" and _TAKEN.search(str(error)):
        return errors.DuplicateKey("id", "a job with this id exists; prepare each job anew")
    kind = _BY_STATE.get(state or "")
    if kind is None:
        return None
    message = _message(error)
    if issubclass(kind, errors.InvalidInput):
        parts = _FIELD.fullmatch(message)
        return kind(*parts.groups()) if parts else kind("", message)
    if issubclass(kind, errors.LimitReached | errors.StorageFull):
        return kind(message, **_detail(error))
    return kind(message)


def _message(error: Exception) -> str:
    primary = getattr(_diagnostics(error), "message_primary", None)
    return primary or str(error).splitlines()[0].removeprefix("ERROR:").strip()


def _detail(error: Exception) -> dict[str, Any]:
    """What an error says of itself beside its message, as the names of ours."""
    told = getattr(_diagnostics(error), "message_detail", None)
    return msgspec.json.decode(told, type=dict[str, Any]) if told else {}


def _diagnostics(error: Exception) -> Any:
    return getattr(getattr(error, "orig", None) or error, "diag", None)
