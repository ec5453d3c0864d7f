"""A call of a function as one statement. Its arguments are one parameter, the JSON object that was sent: Postgres takes
it apart by the types that the catalogue names, as it does for PostgREST. Whether they fit is seen before."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from penstock.engine.postgres.statement import Statement
from penstock.server.rest.answers import Answer, as_list, read_answer
from penstock.server.rest.catalog import FUNCTIONS, SCHEMAS, Function
from penstock.server.rest.errors import Refused
from penstock.server.rest.values import refuse_unfit


def schema_of(profile: str | None) -> str:
    """The schema that Accept-Profile or Content-Profile names."""
    if profile is None:
        return SCHEMAS[0]
    if profile not in SCHEMAS:
        only = ", ".join(SCHEMAS)
        raise Refused(406, "PGRST106", f"Invalid schema: {profile[:63]}", None, f"Only these are exposed: {only}")
    return profile


def read_arguments(body: bytes) -> dict[str, Any]:
    """The named arguments of a call; none for an empty body."""
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise Refused(400, "PGRST102", "the body must be a JSON object of named arguments") from None


def function_of(schema: str, name: str, arguments: Mapping[str, Any]) -> Function:
    """The function that takes these arguments."""
    function = FUNCTIONS[schema].get(name)
    if function is None or not function.required <= arguments.keys() <= function.arguments.keys():
        raise missing(schema, name, arguments, function)
    for argument, value in arguments.items():
        refuse_unfit(function.arguments[argument], value)
    for argument, most in function.most.items():
        given = arguments.get(argument, 0)
        # text may be a number too, and null would be all that there is
        if given is None or int(given) > most:
            raise Refused(400, "22023", f"{argument}: at most {most} at once")
    return function


def missing(schema: str, name: str, arguments: Collection[str], function: Function | None) -> Refused:
    """In PostgREST's words, which say which function was looked for by its arguments' names."""
    shown = f"{schema}.{name[:63]}"
    given = ", ".join(sorted(each[:63] for each in arguments)[:20])
    message = (
        f"Could not find the function {shown}{f'({given})' if given else ' without parameters'} in the schema cache"
    )
    details = f"Searched for the function {shown} with parameters {given}, but no matches were found."
    if function is None:
        hint = f"Here are {', '.join(FUNCTIONS[schema])}"
    else:
        hint = f"Perhaps you meant to call the function {schema}.{name}({', '.join(function.arguments)})"
    return Refused(404, "PGRST202", message, details, hint)


def call(schema: str, name: str, function: Function, arguments: Collection[str], body: bytes) -> Statement[Answer]:
    """Every word of the statement is the catalogue's."""
    given = [each for each in function.arguments if each in arguments]
    passed = ", ".join(f'"{each}" => given."{each}"' for each in given)
    source = f'"{schema}"."{name}"({passed})'
    if given:
        types = ", ".join(f'"{each}" {function.arguments[each]}' for each in given)
        source = f"json_to_record(%s::json) as given({types}) cross join lateral {source}"
    made = "row_to_json(answer)" if function.shape == "rows" else "to_json(answer)"
    rows = f"select {made}::text from {source} as answer"  # noqa: S608 - of our own words
    text = f"select coalesce(({rows}), 'null'), 1" if function.shape == "value" else as_list(rows)
    return Statement(text, [body.decode()] if given else [], read_answer)
