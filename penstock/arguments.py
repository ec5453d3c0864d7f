"""The arguments a handler takes, read from its signature: checked before anything is written and before each call."""

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from penstock.context import Context
from penstock.errors import InvalidArguments, InvalidInput
from penstock.payload import encode_args, from_builtin

_AT = re.compile(r"(.*) - at `(?:key in )?\$\.?(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


class Arguments:
    """Knows the names and types of a handler's parameters, its Context aside."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        hints = _type_hints(function)
        self.takes_context = bool(parameters) and _is_context(parameters[0], hints)
        if self.takes_context:
            del parameters[0]
        open_ended = False
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for parameter in parameters:
            hint = hints.get(parameter.name, Any)
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise InvalidInput(
                    parameter.name, f"*{parameter.name} cannot be stored by name; let the handler take a list instead"
                )
            if parameter.kind is parameter.VAR_KEYWORD:
                open_ended = True
            elif parameter.default is parameter.empty:
                fields.append((parameter.name, hint))
            else:
                fields.append((parameter.name, hint, msgspec.field(default=msgspec.UNSET)))
        self.names = tuple(field[0] for field in fields)
        self._positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        shape = msgspec.defstruct(
            function.__name__, fields, kw_only=True, forbid_unknown_fields=not open_ended, rename=None
        )
        self._decoder: msgspec.json.Decoder[msgspec.Struct] = msgspec.json.Decoder(shape, dec_hook=from_builtin)

    def encode(self, args: Sequence[object], kwargs: Mapping[str, object], limit: int) -> bytes:
        """A call's arguments as JSON that the handler will accept, or an error that names the one at fault."""
        encoded = encode_args(self._by_name(args, kwargs) if args else kwargs, limit)
        try:
            self._decoder.decode(encoded)
        except msgspec.ValidationError as error:
            raise self._explain(str(error)) from None
        return encoded

    def decode(self, encoded: bytes | str) -> msgspec.Struct:
        """The arguments as the handler's types."""
        try:
            return self._decoder.decode(encoded)
        except msgspec.ValidationError as error:
            raise self._explain(str(error)) from None

    def _by_name(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        if len(args) > len(self._positional):
            raise InvalidArguments("args", f"takes {len(self._positional)} by position, got {len(args)}")
        by_name = dict(zip(self._positional, args, strict=False))
        if twice := by_name.keys() & kwargs.keys():
            raise InvalidArguments(min(twice), "is given twice")
        return {**by_name, **kwargs}

    def _explain(self, message: str) -> InvalidArguments:
        if at := _AT.fullmatch(message):
            return InvalidArguments(at[2] or "args", at[1])
        if missing := _MISSING.fullmatch(message):
            return InvalidArguments(missing[1], "is missing")
        if unknown := _UNKNOWN.fullmatch(message):
            close = get_close_matches(unknown[1], self.names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else f"; it takes {', '.join(self.names) or 'none'}"
            return InvalidArguments(unknown[1], f"is no argument of this handler{hint}")
        return InvalidArguments("args", message)


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:
        # a name that exists for type checkers only: take the values as they come
        return {}


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    if hint is None:
        return parameter.annotation in (parameter.empty, "Context") and parameter.name == "ctx"
    return isinstance(hint, type) and issubclass(hint, Context)
