"""Commands and what they give, as OpenAPI describes them."""

from typing import Any

import msgspec

from penstock.engine.http.wire import HeldJob
from penstock.job import ClaimedJob

_REF = "#/components/schemas/work.{name}"
_JSON = "application/json"

components: dict[str, Any] = {}
"""What the descriptions refer to."""


def described_as(command: type[Any], result: Any) -> dict[str, Any]:
    """For a route that takes the one and gives the other."""
    if result == list[ClaimedJob]:
        result = list[HeldJob]  # type: ignore[valid-type]
    gives = type(None) if result is None else result
    (takes, gives), used = msgspec.json.schema_components([command, gives], ref_template=_REF)
    components.update({f"work.{name}": _told(schema) for name, schema in used.items()})
    answer = {"type": "object", "properties": {"result": gives}, "required": ["result"]}
    return {
        "requestBody": {"required": True, "content": {_JSON: {"schema": takes}}},
        "responses": {"200": {"description": "OK.", "content": {_JSON: {"schema": answer}}}},
    }


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the example for Python that a docstring may have."""
    if "description" in schema:
        schema["description"] = schema["description"].partition("```")[0].strip()
    return schema
