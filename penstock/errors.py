"""What can go wrong, in words that say what to do. Everything Penstock raises on purpose derives from
PenstockError, but for `penstock.extras.MissingExtra`, which is an ImportError."""

from collections.abc import Iterable
from difflib import get_close_matches
from uuid import UUID


class PenstockError(Exception):
    """Base of every error Penstock raises on purpose."""


class InvalidInput(PenstockError, ValueError):
    """A value is refused; `field` names it. Nothing was written."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


class InvalidArguments(InvalidInput):
    """The arguments of a job do not fit its handler, or cannot be stored as JSON."""


class StaleArguments(InvalidArguments):
    """A job's arguments do not fit its handler any more: the handler has changed since, or plain SQL wrote them."""


class PayloadTooLarge(InvalidInput):
    """The arguments are too large for a database row: bytes belong in an artifact."""


class DuplicateKey(InvalidInput):
    """Two jobs of one call carry the same unique or idempotency key."""


class InvalidFlow(InvalidInput):
    """A flow is empty, has a cycle, or mixes jobs of another flow."""


class EngineCannot(PenstockError):
    """Something was asked of an engine that it cannot do; `capability` names what it lacks."""

    def __init__(self, capability: str, problem: str) -> None:
        super().__init__(problem)
        self.capability = capability


class UnknownKind(PenstockError, LookupError):
    """No handler of this kind is registered here."""

    def __init__(self, kind: str, known: Iterable[str]) -> None:
        super().__init__(f"no handler {kind!r} is registered{meant(kind, known)}")
        self.kind = kind


class UnknownQueue(PenstockError, LookupError):
    """Nothing is known of the queue: no job, no setting, no application that declares it."""

    def __init__(self, name: str, known: Iterable[str], do: str = "--create makes it") -> None:
        super().__init__(f"there is no queue {name!r}{meant(name, known)}; {do}")
        self.name = name


def meant(word: str, known: Iterable[str]) -> str:
    """A slip of the pen, in brackets; nothing when there is no word like it."""
    names = list(known)
    close = [each for each in names if _letters(each) == _letters(word)] or get_close_matches(word, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _letters(word: str) -> str:
    """The same of run_at, runAt and RUN-AT."""
    return word.replace("_", "").replace("-", "").lower()


class UnknownJob(PenstockError, LookupError):
    """There is no such job, live or in history."""


class LeaseLost(PenstockError):
    """The lease was reclaimed: its jobs belong to other workers. Open a new one."""


class IdempotencyMismatch(PenstockError, ValueError):
    """An idempotency key was used before for a job of another kind or with other arguments."""


class UniqueKeyTaken(PenstockError):
    """A finished job cannot come back while another live job holds its unique key."""


class NotAllowed(PenstockError):
    """The user may not do this: nobody is signed in, the kind is not open to users, or the organisation not theirs."""


class LimitReached(PenstockError):
    """The user has done as much as their quota allows; `retry_in` seconds from now there may be room.

    `which` of its limits it is: per_day, running or unfinished. `limit` of them are allowed, and `used` are used."""

    def __init__(
        self,
        message: str,
        retry_in: float = 0,
        *,
        which: str | None = None,
        used: int | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_in = retry_in
        self.which = which
        self.used = used
        self.limit = limit


class StorageFull(PenstockError):
    """The user's artifacts take as much space as their quota allows: `used` of `limit` bytes."""

    def __init__(self, message: str, *, used: int | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.used = used
        self.limit = limit


class ArtifactExists(PenstockError):
    """There is a file under that path, and it was to be created, not overwritten."""


class UnknownArtifact(PenstockError, LookupError):
    """There is no such artifact, or its file is gone."""


class ArtifactExpired(PenstockError):
    """The artifact was kept as long as it was meant to be; its file is gone or will be soon."""


class StoreFault(PenstockError):
    """The store of artifacts could not be reached, or refused."""


class JobFailed(PenstockError):
    """The job whose result was asked for has failed for good."""


class JobCancelled(PenstockError):
    """The job whose result was asked for was cancelled."""


class SchemaTooNew(PenstockError):
    """The database was migrated by a newer version of Penstock than this one."""


class SchemaTooOld(PenstockError):
    """The database has tables of a layout from before the first release, which cannot be upgraded."""


class NotMigrated(PenstockError):
    """The database has no Penstock schema, or an older one."""


class ProgramTooOld(PenstockError):
    """The database was migrated by a version that no longer serves programs of this one, or a server is of such."""


class ServerTooOld(PenstockError):
    """The server that a worker reaches over HTTP is of a version from before what this one needs."""


class DatabaseUnavailable(PenstockError):
    """The database cannot be reached, or answers nobody. `sent` when it is not known whether it did what was asked;
    `seconds` is how long it was tried, 0 when the first refusal was the last."""

    what, address = "the database", "DATABASE_URL"

    def __init__(self, seconds: float, reason: str, *, sent: bool) -> None:
        done = "whether it did what it was asked to is not known" if sent else "nothing was written"
        why = f"({reason.rstrip('.')}); {done}. Check that it runs and that {self.address} says where"
        if f"{seconds:.1f}" == "0.0":
            super().__init__(f"{self.what} could not be reached {why}")
        else:
            timeout = "Penstock(database_timeout=…) is how long to try"
            super().__init__(f"{self.what} could not be reached within {seconds:.1f} s {why}; {timeout}")
        self.seconds = seconds
        self.reason = reason
        self.sent = sent


class DatabaseReadOnly(PenstockError):
    """The database takes no writes: it is a standby, or the transaction may only read."""


class RolesMissing(PenstockError):
    """The login cannot act on behalf of users: the database has no such role, or does not let this login act as it."""


class UnsupportedConnection(PenstockError, TypeError):
    """Penstock cannot enqueue through an object of this type."""


class NothingAsked(PenstockError):
    """The job asks for no approval: somebody has answered before, or it is over."""


class ReplayMismatch(PenstockError):
    """A handler asks for its steps in another order than an earlier run of the same job, and so cannot go on where that
    ended."""


class CallFailed(PenstockError):
    """A job that a handler called did not succeed. `error` is what it was given up for, and `type` the name of that
    exception: "KeyError", or "Fail" and "Timeout"; None when it was cancelled."""

    def __init__(
        self, id: UUID, kind: str | None, state: str | None, error: str | None, type: str | None = None
    ) -> None:
        super().__init__(f"{kind or 'job'} {id} {state or 'is gone'}{f': {error}' if error else ''}")
        self.id = id
        self.kind = kind
        self.state = state
        self.error = error
        self.type = type


class WaitTimeout(PenstockError, TimeoutError):
    """What a handler waited for did not come in time."""
