"""The OpenAPI description: whoever reads only that has read everything."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from penstock.engine.commands import SeenJob
from penstock.server.http.examples import EXAMPLES
from tests.server.described import DESCRIPTION

OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}
OPEN = {"GET /healthz", "GET /readyz", "GET /api/artifacts/{id}/file", "POST /api/callbacks/{token}"}
"""Need no token: a link is signed, and health is asked by those who have none."""
each_operation = pytest.mark.parametrize("name", OPERATIONS)


def media(name: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where, of which type, and what, of all that an operation takes and gives in a body."""
    operation = OPERATIONS[name]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield "request", kind, content
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            yield status, kind, content


def schemas(node: object) -> Iterator[dict[str, Any]]:
    """Every schema in there, and in what it refers to."""
    if isinstance(node, list):
        for each in node:
            yield from schemas(each)
    elif isinstance(node, dict):
        yield node
        if isinstance(node.get("$ref"), str):
            yield from schemas(DESCRIPTION["components"]["schemas"][node["$ref"].rpartition("/")[2]])
        for part, each in node.items():
            if part not in ("example", "examples", "default"):
                yield from schemas(each)


@each_operation
def test_an_operation_says_what_it_is_and_who_may_call_it(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["summary"]
    assert set(operation["tags"]) <= {"jobs", "events", "artifacts", "operations", "workers"}
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", operation["operationId"])
    assert ("401" in operation["responses"]) == (name not in OPEN)
    assert ("security" in operation) == (name not in OPEN)


def test_the_names_of_operations_are_unique_and_stay() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    assert {"start_job", "start_batch", "list_jobs", "get_job", "cancel_job", "retry_job", "stream_job"} <= set(names)


@each_operation
def test_bodies_have_examples_that_fit(name: str) -> None:
    for where, kind, content in media(name):
        if kind in ("application/json", "application/problem+json"):
            assert "example" in content, where
            schema = {**content["schema"], "components": DESCRIPTION["components"]}
            jsonschema_rs.validator_for(schema, validate_formats=True).validate(content["example"])


@each_operation
def test_an_answer_that_is_a_problem_is_one_as_we_write_them(name: str) -> None:
    for where, kind, content in media(name):
        if where != "request" and int(where) >= 400:
            assert kind == "application/problem+json"
            assert content["schema"] == {"$ref": "#/components/schemas/ProblemBody"}


@each_operation
def test_numbers_that_are_asked_for_have_bounds(name: str) -> None:
    """What has none ends in the database, which has its own. Of a duration or an expiry, the code knows the bounds."""
    operation = OPERATIONS[name]
    for schema in schemas([operation.get("requestBody", {}), operation.get("parameters", [])]):
        if schema.get("type") == "integer":
            assert {"minimum", "maximum"} <= set(schema), schema


def test_nothing_is_described_that_nobody_refers_to() -> None:
    referred = {schema["$ref"].rpartition("/")[2] for schema in schemas(DESCRIPTION["paths"]) if "$ref" in schema}
    assert set(DESCRIPTION["components"]["schemas"]) == referred
    assert set(EXAMPLES) <= referred
    assert DESCRIPTION["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_the_api_speaks_the_words_of_python_and_sql() -> None:
    """In their spelling too: whatever is sent, answered or put into an address."""
    told = [name for schema in schemas(DESCRIPTION["paths"]) for name in schema.get("properties", {})]
    asked = [each["name"] for each in schemas(DESCRIPTION["paths"]) if "in" in each and each["in"] != "header"]
    odd = {name for name in [*told, *asked, *names_in(EXAMPLES)] if not re.fullmatch(r"[a-z][a-z_]*", name)}
    assert odd <= set(EXAMPLES)
    job = DESCRIPTION["components"]["schemas"]["Job"]["properties"]
    seen = set(SeenJob.__struct_fields__) - {"rollup"}
    assert (set(job) - seen, seen - set(job)) == ({"worker"}, set())


def names_in(example: object) -> Iterator[str]:
    if isinstance(example, list):
        for each in example:
            yield from names_in(each)
    elif isinstance(example, dict):
        for name, each in example.items():
            yield name
            yield from names_in(each)


def test_examples_for_python_are_not_for_those_who_speak_http() -> None:
    assert "```" not in str(DESCRIPTION)
