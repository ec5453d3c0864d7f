"""What an engine can be asked for, as a value: each command knows what it gives. Python, SQL and HTTP use the same
words: `Claim(lease=…)` is `penstock.claim(p_lease => …)` and `POST /api/work/claim {"lease": …}`."""

from functools import cache
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args

import msgspec

from penstock.job import Lease

R_co = TypeVar("R_co", covariant=True)

MOST_JOBS = 1000
"""Jobs that one command may speak of where it comes over HTTP."""

LeaseId = Annotated[Lease, msgspec.Meta(ge=0, le=2**53, description="The worker's lease.")]
Claims = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Many = msgspec.Meta(min_length=1, max_length=MOST_JOBS)


class Command(msgspec.Struct, Generic[R_co], frozen=True, forbid_unknown_fields=True):
    """Gives what it is a command of. Bounds in the types are checked where one is decoded that comes from elsewhere."""

    repeatable: ClassVar[bool] = False
    """Whether running it twice is as good as once, so that it may be sent again after a lost connection."""


class Repeatable(Command[R_co], Generic[R_co], frozen=True):
    """May be sent again."""

    repeatable: ClassVar[bool] = True


@cache
def result_of(kind: type[Command[Any]]) -> Any:
    """What commands of this type give, as a type."""
    for base in (*kind.__orig_bases__, *kind.__mro__[1].__orig_bases__):  # type: ignore[attr-defined]
        for given in get_args(base):
            if not isinstance(given, TypeVar):
                return given
    raise TypeError(f"{kind.__name__} does not say what it gives")
