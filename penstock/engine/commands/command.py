"""What an engine can be asked for, as a value: each command knows what it gives. Python, SQL and HTTP use the same
words: `Claim(lease=…)` is `penstock.claim(p_lease => …)` and `POST /api/work/claim {"lease": …}`."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin
from uuid import UUID

import msgspec

from penstock.errors import InvalidInput
from penstock.job import Lease
from penstock.json import clean

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


_SCALARS = {str, int, float, bool, UUID, datetime, type(None)}


def misfit(command: Command[Any]) -> InvalidInput | None:
    """The field whose value is none of its type, or no text that can be stored, if there is one: an engine that refuses
    the command for it says so in words that tell nothing to whoever gave it."""
    for field in msgspec.structs.fields(command):
        if _is_scalar(field.type):
            value = getattr(command, field.name)
            try:
                msgspec.convert(value, field.type)
            except msgspec.ValidationError as error:
                return InvalidInput(field.name, str(error))
            if isinstance(value, str) and clean(value) != value:
                return InvalidInput(field.name, "contains NUL or a lone surrogate, which cannot be stored")
    return None


def _is_scalar(kind: Any) -> bool:
    """Also one of several, and a list of such."""
    if isinstance(kind, type) and get_origin(kind) is None:
        return kind in _SCALARS
    parts = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
    return get_origin(kind) in (Annotated, Union, UnionType, Sequence) and all(_is_scalar(each) for each in parts)
