"""Arguments as JSON: what cannot be stored, or should not be, is refused by name before anything is written."""

import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any

import msgspec

from penstock.errors import InvalidArguments, PayloadTooLarge

MAX_PAYLOAD = 256 * 1024
"""Bytes of JSON a job's arguments may have by default. Plain SQL is held to 1 MiB."""

MAX_BLOB = 16 * 1024
"""Characters a text that looks like an encoded file may have."""

_BLOB = re.compile(r"(data:[\w.+/-]*[;,]|[A-Za-z0-9+/_=\s-]*\Z)")
_SCALARS = frozenset({int, bool, type(None)})


def encode_args(args: Mapping[str, Any], limit: int = MAX_PAYLOAD, *, whole: str = "args") -> bytes:
    """The arguments as JSON, or an error that names the one at fault; `whole` when all of them are."""
    simple = _SCALARS.issuperset(map(type, args.values()))
    try:
        encoded = _encoder.encode(args)
    except _UNENCODABLE as error:
        _refuse_unfit_args(args)  # by recursion, which ends also where a value contains itself
        raise InvalidArguments(_find_unencodable(args, ""), str(error)) from error
    if len(encoded) > limit:
        # before anything is walked through: whoever sends as much must not keep us busy with it
        for name, value in args.items():
            if isinstance(value, str | bytes | bytearray | memoryview):
                _refuse_unfit(value, name)
        raise PayloadTooLarge(
            whole,
            f"{len(encoded):,} bytes of JSON, over the limit of {limit:,}; "
            "put large data into an artifact and pass its path",
        )
    if not simple:
        _refuse_unfit_args({name: value for name, value in args.items() if not _is_plain(value)})
    if rb"\u0000" in encoded:
        # in a name, or in the text that an object became
        _refuse_unfit(loads(encoded), "args")
    return encoded


def encode_output(output: object, name: str = "output") -> bytes:
    """A handler's result as JSON, or another value; errors call it by the name."""
    return encode_args({name: output}, whole=name)[len(name) + len(b'{"":') : -1]


def clean(text: str) -> str:
    """Text that Postgres can store: no NUL, no lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def loads(encoded: bytes | str) -> Any:
    return msgspec.json.decode(encoded)


def loads_anyway(encoded: str, decode: Callable[[str], Any] = msgspec.json.decode) -> Any:
    """What the database holds. In SQL it may have got what no reader here takes: see `readable`."""
    try:
        return decode(encoded)
    except (msgspec.ValidationError, RecursionError):
        return decode(readable(encoded))


def readable(encoded: str) -> str:
    """The same JSON, in which a number that no float holds is text, and what is nested too deeply is "…"."""
    taken: list[str] = []
    depth = at = 0
    for found in _TOKEN.finditer(encoded):
        part = found[0]
        if part in "[{":
            depth += 1
            if depth == _DEEPEST:
                taken.append(encoded[at : found.start()] + '"…"')
        elif part in "]}":
            if depth == _DEEPEST:
                at = found.end()
            depth -= 1
        elif depth < _DEEPEST and part[0] != '"' and not _is_readable(part):
            taken.append(f'{encoded[at : found.start()]}"{part}"')
            at = found.end()
    return "".join([*taken, encoded[at:]])


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{}\]]|-?[0-9][0-9.eE+-]*')
_DEEPEST = 200
_MOST_DIGITS = 4300
"""Of a whole number, with its sign."""


def _is_readable(number: str) -> bool:
    whole = number.removeprefix("-").isdigit()
    return (whole and len(number) <= _MOST_DIGITS) or math.isfinite(float(number))


def _refuse_unfit_args(args: Mapping[str, Any]) -> None:
    for name, value in args.items():
        try:
            _refuse_unfit(value, name)
        except RecursionError:
            raise InvalidArguments(name, "is nested too deeply, or contains itself") from None


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
        case Enum():
            _refuse_unfit(value.value, path)
        case msgspec.Struct():
            for name in value.__struct_fields__:
                _refuse_unfit(getattr(value, name), f"{path}.{name}")
        case _ if is_dataclass(value):
            for field in fields(value):
                _refuse_unfit(getattr(value, field.name), f"{path}.{field.name}")
        case _ if callable(dump := getattr(value, "model_dump", None)):
            _refuse_unfit(dump(), path)


def _is_plain(value: Any) -> bool:
    """Whether there is nothing to refuse in a value that could be encoded: most are JSON already, and naming each part
    costs six times as much."""
    left = [value]
    while left:
        one = left.pop()
        kind = type(one)
        if kind is str:
            if len(one) > MAX_BLOB or "\x00" in one:
                return False
        elif kind is float:
            if not math.isfinite(one):
                return False
        elif kind is list:
            if not _SCALARS.issuperset(map(type, one)):
                left.extend(one)
        elif kind is dict:
            left.extend(one)
            left.extend(one.values())
        elif kind not in _SCALARS:
            return False
    return True


def to_builtin(value: object) -> object:
    """Plain data for what msgspec does not know by itself: pydantic models, paths."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def from_builtin(kind: type, value: Any) -> Any:
    """The reverse of to_builtin."""
    if not can_read(kind):
        raise TypeError(f"cannot read a {kind!r} from JSON; use a dataclass, a msgspec.Struct or a pydantic model")
    if kind is object:
        return value
    validate = getattr(kind, "model_validate", None)
    if validate is None:
        return kind(value)
    try:
        return validate(value)
    except ValueError as error:
        raise ValueError(str(error)) from None


def can_read(kind: object) -> bool:
    """Whether from_builtin knows the type."""
    return kind is object or hasattr(kind, "model_validate") or (isinstance(kind, type) and issubclass(kind, PurePath))


def return_type(function: Callable[..., Any] | None) -> Any:
    """The type to read a result as: the handler's return annotation, if JSON can carry it."""
    if function is None:
        return Any
    try:
        hint = typing.get_type_hints(function).get("return", Any)
        info = msgspec.inspect.type_info(hint)
    except (NameError, TypeError):
        return Any
    return Any if isinstance(info, msgspec.inspect.CustomType) and not can_read(info.cls) else hint


_encoder = msgspec.json.Encoder(enc_hook=to_builtin)
_UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)


def _find_unencodable(value: Any, path: str) -> str:
    """The path of the innermost part that has no JSON form."""
    inside: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        inside = ((f"{path}.{name}" if path else str(name), inner) for name, inner in value.items())
    elif isinstance(value, list | tuple):
        inside = ((f"{path}[{index}]", inner) for index, inner in enumerate(value))
    for name, inner in inside:
        try:
            _encoder.encode(inner)
        except _UNENCODABLE:
            return _find_unencodable(inner, name)
    return path or "args"
