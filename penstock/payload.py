"""Arguments as JSON: what cannot be stored, or should not be, is refused by name before anything is written."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

import msgspec

from penstock.errors import InvalidArguments, PayloadTooLarge

MAX_PAYLOAD = 256 * 1024
"""Bytes of JSON a job's arguments may have by default. The table itself refuses more than 1 MiB."""

MAX_BLOB = 16 * 1024
"""Characters a text that looks like an encoded file may have."""

_BLOB = re.compile(r"(data:[\w.+/-]*[;,]|[A-Za-z0-9+/_=\s-]*\Z)")
_SCALARS = frozenset({int, bool, type(None)})


def encode_args(args: Mapping[str, Any], limit: int = MAX_PAYLOAD) -> bytes:
    """The arguments as JSON, or an error that names the one at fault."""
    for name, value in args.items():
        if type(value) not in _SCALARS:
            _refuse_unfit(value, name)
    try:
        encoded = _encoder.encode(args)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidArguments(_find_unencodable(args), str(error)) from error
    if len(encoded) > limit:
        raise PayloadTooLarge(
            "args",
            f"{len(encoded):,} bytes of JSON, over the limit of {limit:,}; "
            "put large data into an artifact and pass its path",
        )
    return encoded


def encode_output(output: object) -> bytes:
    """A handler's result as JSON."""
    return encode_args({"output": output})[len(b'{"output":') : -1]


def loads(encoded: bytes | str) -> Any:
    return msgspec.json.decode(encoded)


def _refuse_unfit(value: Any, path: str) -> None:
    match value:
        case str():
            if "\x00" in value:
                raise InvalidArguments(path, "contains a NUL character, which Postgres cannot store")
            if len(value) > MAX_BLOB and _BLOB.match(value):
                raise PayloadTooLarge(
                    path,
                    f"looks like an encoded file of {len(value):,} characters; "
                    "store the bytes as an artifact and pass its path",
                )
        case float():
            if not math.isfinite(value):
                raise InvalidArguments(path, f"{value} has no JSON form")
        case datetime():
            if value.tzinfo is None:
                raise InvalidArguments(path, "is a datetime without a time zone; say which, e.g. datetime.now(UTC)")
        case bytes() | bytearray() | memoryview():
            raise InvalidArguments(path, "is bytes; store them as an artifact and pass its path")
        case dict():
            for key, inner in value.items():
                _refuse_unfit(key, f"{path} (a key)")
                _refuse_unfit(inner, f"{path}.{key}")
        case list() | tuple() | set() | frozenset():
            for index, inner in enumerate(value):
                _refuse_unfit(inner, f"{path}[{index}]")


def to_builtin(value: object) -> object:
    """Plain data for what msgspec does not know by itself: pydantic models, paths."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=to_builtin)


def _find_unencodable(args: Mapping[str, Any]) -> str:
    for name, value in args.items():
        try:
            _encoder.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return name
    return "args"
