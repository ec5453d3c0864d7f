"""The arguments a handler takes, read from its signature: checked before anything is written and before each call."""

import collections.abc
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from penstock.context import Context, JobContext, SyncContext
from penstock.errors import InvalidArguments, InvalidInput, StaleArguments, meant
from penstock.json import encode_args, from_builtin, loads

_AT = re.compile(r"(.*) - at `(?:key in )?\$\.?(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


class Arguments:
    """Knows the names and types of a handler's parameters, its Context aside."""

    def __init__(self, function: Callable[..., Any], *, batch: bool = False) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        hints = _type_hints(function)
        self.takes_context = bool(parameters) and _is_context(parameters[0], hints)
        if self.takes_context:
            _refuse_other_context(function, parameters[0].name, hints)
            del parameters[0]
        if batch:
            hints = _of_one_job(function, parameters, self.takes_context, hints)
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
        self._by_position_only = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_ONLY)
        self._open_ended = open_ended
        self._has_defaults = any(len(field) > 2 for field in fields)
        self._positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        self._shape = msgspec.defstruct(
            function.__name__, fields, kw_only=True, forbid_unknown_fields=not open_ended, rename=None
        )
        self._decoder: msgspec.json.Decoder[msgspec.Struct] = msgspec.json.Decoder(self._shape, dec_hook=from_builtin)

    def encode(self, args: Sequence[object], kwargs: Mapping[str, object], limit: int) -> bytes:
        """A call's arguments as JSON that the handler will accept, or an error that names the one at fault."""
        encoded = encode_args(self._by_name(args, kwargs) if args else kwargs, limit)
        try:
            self._decoder.decode(encoded)
        except msgspec.ValidationError as error:
            raise self._explain(str(error)) from None
        return encoded

    def refuse_unknown(self, field: str, names: Sequence[str]) -> None:
        """What names an argument must name one that there is; `customer.id` is a part of `customer`."""
        for name in names:
            if not self._open_ended and (given := name.partition(".")[0]) not in self.names:
                known = ", ".join(self.names) or "none"
                raise InvalidInput(field, f"there is no argument {given!r}; there is {known}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments; of a type that has none, only that anything goes."""
        schema = msgspec.json.schema(self._shape, schema_hook=lambda _: {})
        name = schema.pop("$ref").rpartition("/")[2]
        definitions = schema.pop("$defs")
        shape: dict[str, Any] = definitions.pop(name)
        return shape | ({"$defs": definitions} if definitions else {})

    def bind(self, encoded: str) -> tuple[list[Any], dict[str, Any]]:
        """The arguments to call the handler with, by position and by name."""
        try:
            values = self._decoder.decode(encoded)
            further = loads(encoded) if self._open_ended else {}
        except msgspec.ValidationError as error:
            explained = self._explain(str(error))
            raise StaleArguments(explained.field, explained.problem) from None
        named = msgspec.structs.asdict(values)
        if self._has_defaults:
            named = {name: value for name, value in named.items() if value is not msgspec.UNSET}
        if self._open_ended:
            named = {**further, **named}
        if not self._by_position_only:
            return [], named
        return [named.pop(name) for name in self._by_position_only if name in named], named

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
            hint = meant(unknown[1], self.names) or f"; it takes {', '.join(self.names) or 'none'}"
            return InvalidArguments(unknown[1], f"is no argument of this handler{hint}")
        return InvalidArguments("args", message)


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        # a name that exists for type checkers only: take the values as they come
        return {}


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    if hint is None:
        named_so = (parameter.empty, "Context", "SyncContext")
        return parameter.annotation in named_so and parameter.name == "ctx"
    return isinstance(hint, type) and issubclass(hint, JobContext)


def _refuse_other_context(function: Callable[..., Any], name: str, hints: Mapping[str, Any]) -> None:
    """An async handler gets a Context, a sync one a SyncContext: the annotation must not promise the other."""
    fitting = Context if inspect.iscoroutinefunction(function) else SyncContext
    hint = hints.get(name, fitting)
    if hint is not JobContext and not issubclass(hint, fitting):
        kind = "an async" if fitting is Context else "a sync"
        raise InvalidInput(name, f"{kind} handler takes a {fitting.__name__}: {name}: {fitting.__name__}")


def _of_one_job(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter], takes_context: bool, hints: Mapping[str, Any]
) -> dict[str, Any]:
    """The type hints of one job of a batch handler, whose single parameter is the list of what its jobs were given."""
    if takes_context or len(parameters) != 1:
        raise InvalidInput(
            "batch", f"{function.__name__} must take one parameter, the list of its jobs' arguments, and no Context"
        )
    if parameters[0].kind is parameters[0].VAR_KEYWORD or parameters[0].default is not parameters[0].empty:
        raise InvalidInput(parameters[0].name, "of a batch handler must be a list, without a default")
    hint = hints.get(parameters[0].name, list)
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if hint is not list and typing.get_origin(hint) not in (list, collections.abc.Sequence):
        raise InvalidInput(parameters[0].name, f"of a batch handler must be a list, not {hint!r}")
    [one] = typing.get_args(hint) or (Any,)
    return {parameters[0].name: one}


def as_of_one_job(function: Callable[..., Any]) -> Callable[..., Any]:
    """A batch handler's function as a single job of it has it: takes what that was given, returns what came of it, and
    says so by its annotations."""
    many = inspect.signature(function)
    hints = _type_hints(function)
    [(name, parameter)] = many.parameters.items()
    [item] = _of_one_job(function, [parameter], False, hints).values()
    listed = hints.get("return", Any)
    is_list = typing.get_origin(listed) in (list, collections.abc.Sequence)
    result = typing.get_args(listed)[0] if is_list else None if listed is type(None) else Any

    def one(*args: Any, **kwargs: Any) -> Any:
        return _only(function([*args, *kwargs.values()]))

    async def one_async(*args: Any, **kwargs: Any) -> Any:
        return _only(await function([*args, *kwargs.values()]))

    of_one: Any = one_async if inspect.iscoroutinefunction(function) else one
    of_one.__name__ = function.__name__
    of_one.__annotations__ = {name: item, "return": result}
    of_one.__signature__ = inspect.Signature([parameter.replace(annotation=item)], return_annotation=result)
    return cast("Callable[..., Any]", of_one)


def _only(results: Sequence[Any] | None) -> Any:
    if results is None:
        return None
    [result] = results
    if isinstance(result, Exception):
        raise result
    return result
