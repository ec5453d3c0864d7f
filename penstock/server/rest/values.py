"""Whether what was sent fits the catalogue's types. Postgres would refuse it as well, and write it into its log."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from penstock.server.rest.errors import Refused

_UUID = re.compile(r"(\{)?(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}(?(1)\})", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,30}\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:e[+-]?[0-9]{1,9})?\s*", re.IGNORECASE)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-9]{2})?)?)?"
)
_MOMENTS = ("now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity")


def refuse_nul(sent: str, value: object) -> None:
    """What Postgres cannot store in any text; `value` is what was `sent`, read."""
    if r"\u0000" in sent and _has_nul(value):
        raise Refused(400, "22P05", "unsupported Unicode escape sequence", r"\u0000 cannot be converted to text.")


def refuse_unfit(type: str, value: object) -> None:
    """A value as JSON has it, for a parameter or a column of this type."""
    if value is None or type in ("text", "jsonb"):
        return
    if type.endswith("[]"):
        if not isinstance(value, list) or (type == "text[]" and any(isinstance(each, list) for each in value)):
            raise Refused(400, "22P02", f"malformed array: {type} is a JSON list")
        return
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Refused(
            400, "22P02", f"invalid input syntax for type {type}: {msgspec.json.encode(value).decode()[:100]}"
        )
    refuse_unfit_text(type, value if isinstance(value, str) else repr(value))


def refuse_unfit_text(type: str, text: str) -> None:
    """The same of what a filter compares with."""
    if type in _FITS and not _FITS[type](text):
        raise Refused(400, "22P02", f'invalid input syntax for type {type}, or out of its range: "{text[:100]}"')


def _has_nul(value: object) -> bool:
    left = [value]
    while left:
        match left.pop():
            case str(text):
                if "\x00" in text:
                    return True
            case list(items):
                left.extend(items)
            case dict(fields):
                left.extend(fields)
                left.extend(fields.values())
    return False


def _is_whole(bits: int) -> Callable[[str], bool]:
    return lambda text: _WHOLE.fullmatch(text) is not None and -(2**bits) <= int(text) < 2**bits


def _is_number(text: str) -> bool:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    number = float(text)
    is_zero = not "".join(filter(None, found.groups())).strip("0")
    return abs(number) != float("inf") and (number != 0 or is_zero)


def _is_moment(text: str) -> bool:
    if _MOMENT.fullmatch(text) is None:
        return text in _MOMENTS
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        return not _has_nul(msgspec.json.decode(text))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


_FITS: Mapping[str, Callable[[str], bool]] = {
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "integer": _is_whole(31),
    "bigint": _is_whole(63),
    "double precision": _is_number,
    "timestamptz": _is_moment,
    "jsonb": _is_json,
}
"""What Postgres takes of each type, or a little less."""
