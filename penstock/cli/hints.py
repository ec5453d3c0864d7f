"""What to do next, where an error says only what is wrong: those of the library, which any program may use, and of
Postgres."""

from penstock.engine.http.answers import ApiUnreachable, KeyRefused
from penstock.errors import (
    JobCancelled,
    JobFailed,
    UniqueKeyTaken,
    UnknownArtifact,
    UnknownJob,
    UnknownKind,
)  # fmt: skip
from penstock.extras import needs_libpq

with needs_libpq():
    import psycopg
    from psycopg import errors as sql

_HINTS: list[tuple[type[Exception], str]] = [
    (UnknownJob, "`penstock jobs list` shows those that there are"),
    (UnknownArtifact, "`penstock artifacts list` shows those that there are"),
    (UnknownKind, "name a kind of that application, or leave out --app for a handler that is elsewhere"),
    (UniqueKeyTaken, "cancel that one first, or leave it to that one"),
    (JobFailed, "`penstock jobs show ID` has its traceback, `penstock jobs retry ID` brings it back"),
    (JobCancelled, "`penstock jobs retry ID` brings it back"),
    (ApiUnreachable, "check that the server runs and that --api, or PENSTOCK_API, says where"),
    (KeyRefused, "set PENSTOCK_SERVICE_KEY to the key that the server has"),
    (sql.InsufficientPrivilege, "connect as the role that ran `penstock migrate`, or have that one grant the right"),
    (psycopg.OperationalError, "check that the database runs and that DATABASE_URL says where"),
]
_OF_CONNECTING = {
    "does not exist": "create it, or correct its name in DATABASE_URL",
    "password authentication failed": "correct the user and the password in DATABASE_URL",
    "no password supplied": "put the password into DATABASE_URL, or into PGPASSWORD",
}
"""What a server says when it refuses somebody has no code that psycopg could tell."""


def with_hint(error: Exception) -> str:
    """The error in one line that ends with what to do."""
    said = " ".join(str(error).split())
    for kind, hint in _HINTS:
        if isinstance(error, kind):
            if kind is psycopg.OperationalError:
                hint = next((each for words, each in _OF_CONNECTING.items() if words in said), hint)
            return said if "DATABASE_URL" in said or "`penstock " in said else f"{said.rstrip('.')}; {hint}"
    return said
