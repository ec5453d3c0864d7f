"""Deterministic keys: the same work gives the same key, whatever the order of its arguments."""

import json
import re
from collections.abc import Mapping

from penstock.errors import InvalidInput

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")


def dedupe_key(kind: str, org: str | None, args: Mapping[str, object]) -> str:
    """`<kind>::<org|global>::<sorted-json>`. The engine stores a long key as its SHA-256."""
    payload = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{kind}::{org or 'global'}::{payload}"


def fill_key(template: str, args: Mapping[str, object]) -> str | None:
    """A key from a job's arguments, as penstock.fill_key makes it in SQL; None when one of them is not there.

    >>> fill_key("{customer.id}", {"customer": {"id": 7}})
    '7'
    """
    values = [_value_at(name, args) for name in PLACEHOLDER.findall(template)]
    if None in values:
        return None
    given = iter(values)
    return PLACEHOLDER.sub(lambda _: str(next(given)), template)


def _value_at(name: str, args: Mapping[str, object]) -> str | None:
    value: object = args
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping | list):
        raise InvalidInput("limit_key", f"{name} is no text or number, but {type(value).__name__}: name a part of it")
    return value if value is None or isinstance(value, str) else json.dumps(value)
