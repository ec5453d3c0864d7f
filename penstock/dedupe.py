"""Deterministic keys: the same work gives the same key, whatever the order of its arguments.

`penstock.dedupe_key` in SQL makes the same text of the same arguments.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from json.encoder import encode_basestring

import msgspec

from penstock.errors import InvalidInput
from penstock.job import NewJob
from penstock.json import to_builtin

_decode = msgspec.json.Decoder(float_hook=Decimal).decode

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")


def dedupe_key(kind: str, org: str | None, args: Mapping[str, object] | bytes) -> str:
    """`<kind>::<org|global>::<sorted-json>`, of arguments or of their JSON. The engine stores a long key as its
    SHA-256.

    ```python
    assert dedupe_key("sync", None, {"b": 1.0, "a": "ü"}) == 'sync::global::{"a":"ü","b":1}'
    ```
    """
    encoded = args if isinstance(args, bytes) else msgspec.json.encode(args, enc_hook=to_builtin)
    return f"{kind}::{org or 'global'}::{sorted_json(encoded)}"


def sorted_json(encoded: bytes) -> str:
    """JSON as text that is the same for the same document: keys by code point, at any depth, no spaces, numbers in
    plain digits without zeros that say nothing."""
    return _write(_decode(encoded))


def for_tenant(job: NewJob, owner: str | None, org: str | None) -> NewJob:
    """The job on somebody's behalf. A key that was made of its arguments is made anew, for their organisation."""
    key = job.unique_key
    if key is not None and org != job.org and key == dedupe_key(job.kind, job.org, job.args):
        key = dedupe_key(job.kind, org, job.args)
    return replace(job, owner=owner, org=org, unique_key=key)


class _Text(str):
    """Written already."""


_COMMA = _Text(",")


def _write(value: object) -> str:
    """Without recursion: arguments may be nested deeper than Python's stack is."""
    written: list[str] = []
    left = [value]
    while left:
        match left.pop():
            case _Text() as text:
                written.append(text)
            case str() as text:
                written.append(encode_basestring(text))
            case bool() as truth:
                written.append("true" if truth else "false")
            case Decimal() as number:
                digits = format(number, "f")
                digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
                written.append("0" if digits == "-0" else digits)
            case list() as items:
                left.append(_Text("]"))
                left += [part for item in reversed(items) for part in (item, _COMMA)][:-1]
                left.append(_Text("["))
            case dict() as fields:
                left.append(_Text("}"))
                for key in sorted(fields, reverse=True):
                    left += (fields[key], _Text(f"{encode_basestring(key)}:"), _COMMA)
                if fields:
                    left.pop()
                left.append(_Text("{"))
            case None:
                written.append("null")
            case whole:
                written.append(str(whole))
    return "".join(written)


def fill_key(template: str, args: Mapping[str, object]) -> str | None:
    """A key from a job's arguments, as penstock.fill_key makes it in SQL; None when one of them is not there.

    ```python
    assert fill_key("{customer.id}", {"customer": {"id": 7}}) == "7"
    ```
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
