"""What an answer of the API means, what can go wrong on the way to it, and whether to ask again when there is none."""

import time
from typing import Any

import msgspec

from penstock.errors import (
    DuplicateKey,
    EngineCannot,
    InvalidInput,
    LeaseLost,
    PayloadTooLarge,
    PenstockError,
    ProgramTooOld,
    StorageFull,
)


class ApiUnreachable(PenstockError, ConnectionError):
    """The API gave no answer, or a fault of the server: whoever asked pauses and asks again."""


class KeyRefused(PenstockError, PermissionError):
    """The API does not take the service key."""


class NoDatabase(EngineCannot):
    """Something needs a database connection where there is only the API."""


def no_database(what: str) -> NoDatabase:
    return NoDatabase(
        "database",
        f"{what} needs a database connection, and this worker reaches the database only through the API; enqueue with "
        "ctx.enqueue(…), or run this handler on a worker with DATABASE_URL",
    )


RESTART = 10.0
"""Seconds to go on asking an API that was there before: it may be restarting."""


class Tries:
    """How long to pause before asking once more."""

    def __init__(self, *, met: bool) -> None:
        self._deadline = time.monotonic() + (RESTART if met else 0.0)
        self._pause = 0.05

    def pause(self, fault: PenstockError) -> float:
        """Seconds; raises the fault when it is time to give up."""
        pause, self._pause = self._pause, min(2 * self._pause, 1.0)
        if time.monotonic() + pause > self._deadline:
            raise fault
        return pause


def refusal(status: int, body: bytes, api: str) -> PenstockError:
    """An answer that is not what was asked for, as one of our errors."""
    field, said = _problem(body)
    match status:
        case 401 | 403:
            return KeyRefused(
                f"the API at {api} does not take this service key ({status}): set PENSTOCK_SERVICE_KEY to the one that "
                "the server has"
            )
        case 404 | 405:
            return ApiUnreachable(f"there is no Penstock API for workers at {api} ({status})")
        case 409:
            return DuplicateKey(field, said)
        case 410:
            return LeaseLost(said)
        case 426:
            return ProgramTooOld(said)
        case 413:
            return PayloadTooLarge(field, said)
        case 507:
            return StorageFull(said, **_space(body))
        case 400 | 422:
            return InvalidInput(field, said)
    return ApiUnreachable(f"the API at {api} answered {status}: {said}")


class _Space(msgspec.Struct):
    used: int | None = None
    limit: int | None = None


def _space(body: bytes) -> dict[str, int | None]:
    """How many bytes are used, of how many, as far as it is said."""
    try:
        return msgspec.structs.asdict(msgspec.json.decode(body, type=_Space))
    except msgspec.MsgspecError:
        return {}


def _problem(body: bytes) -> tuple[str, str]:
    """The field at fault, if one is named, and what is said about it."""
    try:
        document: Any = msgspec.json.decode(body)
        errors = document.get("errors") or [{}]
        return str(errors[0].get("field", "")), str(errors[0].get("problem") or document.get("detail"))
    except (msgspec.MsgspecError, AttributeError, IndexError, TypeError, KeyError):
        return "", "no problem+json came with it"  # from a proxy
