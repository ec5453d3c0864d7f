"""The API's OpenAPI description, with what FastAPI does not see of it: the stream, examples, and who may call what."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from penstock.engine.http.sent import SENT, path_of
from penstock.server.http.examples import EXAMPLES
from penstock.server.http.models import ProblemBody
from penstock.server.live import sse
from penstock.server.work import schemas

_JSON = "application/json"
_BEARER = {"type": "http", "scheme": "bearer", "description": "A user's JWT, or the service key."}
_OF_BODIES = ("408", "413")
_COMMANDS = {path_of(kind): example for kind, example in SENT.items() if example is not None}


def described(api: FastAPI, own: Sequence[BaseRoute] = ()) -> dict[str, Any]:
    """Made once. Where an application's own route stands before the server's, that is the one described."""
    if api.openapi_schema is None:
        api.openapi_schema = _describe(api, own)
    return api.openapi_schema


def _describe(api: FastAPI, own: Sequence[BaseRoute]) -> dict[str, Any]:
    routes = [*(route for route in api.routes if route not in own), *own]  # of two for one path, the last counts
    description = get_openapi(title=api.title, version=api.version, description=api.description, routes=routes)
    for path, described_by_hand in sse.openapi_paths.items():
        description["paths"].setdefault(path, described_by_hand)
    components = description["components"]
    components["securitySchemes"] = {"bearer": _BEARER}
    problem = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= {**problem.pop("$defs"), "ProblemBody": problem, **schemas.components}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return description


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "401" in responses:
        operation["security"] = [{"bearer": []}]
    if method == "get":
        for status in _OF_BODIES:
            responses.pop(status, None)
    operation["responses"] = dict(sorted(responses.items()))
    sent, given = _COMMANDS.get(path, (None, None))
    if body := operation.get("requestBody"):
        _give_example(body["content"], sent)
    for status, response in responses.items():
        if response.get("description") == "Successful Response":
            response["description"] = f"{HTTPStatus(int(status)).phrase}."
        if status.startswith("2") and _JSON in response.get("content", {}):
            _give_example(response["content"], None if sent is None else {"result": given})


def _give_example(content: dict[str, Any], example: object = None) -> None:
    media = content.get(_JSON, {})
    example = example or _example_of(media.get("schema", {}))
    if example is not None:
        media.setdefault("example", example)


def _example_of(schema: dict[str, Any]) -> object:
    if "anyOf" in schema:
        return _example_of(schema["anyOf"][0])
    if schema.get("type") == "array":
        return [_example_of(schema["items"])]
    return EXAMPLES.get(schema.get("$ref", "").rpartition("/")[2])
