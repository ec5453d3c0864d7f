"""The commands that `penstock up` proposes to try it out with. No key is in their arguments, where `ps` shows it."""

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from penstock.app import Penstock
from penstock.flow_maker import FlowMaker

_JSON = "-H 'Content-Type: application/json'"


def commands_for(app: Penstock, address: str, key: str) -> list[str]:
    """Those that the application gives; else the start of its simplest flow or kind, on behalf of the service. `key` is
    how a shell comes by the service's key."""
    if app.examples or not app.startable:
        return [example.replace("{api}", address) for example in app.examples]
    # a flow is what its application is for; the kinds in it may make little sense by themselves
    flows = [each for each in app.startable if isinstance(each, FlowMaker)]
    bodies = ({"kind": each.kind, "args": sample_of(each.arguments.schema())} for each in flows or app.startable)
    body = shlex.quote(min((json.dumps(each, ensure_ascii=False) for each in bodies), key=len))
    return [f'echo "Authorization: Bearer {key}" | curl -H @- {address}/api/jobs {_JSON} -d {body}']


def key_in_shell(file: object) -> str:
    return "$PENSTOCK_SERVICE_KEY" if os.environ.get("PENSTOCK_SERVICE_KEY") else f"$(cat {shlex.quote(str(file))})"


_SAMPLES = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "null": None}
_FORMATS = {
    "uuid": "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f",
    "date-time": "2026-12-24T18:00:00Z",
    "date": "2026-12-24",
    "time": "18:00:00",
    "duration": "PT1M",
    "byte": "eA==",
    "decimal": "1.5",
}


def sample_of(schema: Mapping[str, Any], parts: Mapping[str, Any] | None = None) -> Any:
    """The least that a JSON Schema accepts, with values that may do."""
    parts = parts or schema.get("$defs", {})
    if "$ref" in schema:
        return sample_of(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return sample_of(choice, parts)
    match schema.get("type"):
        case "object":
            return {name: sample_of(schema["properties"][name], parts) for name in schema.get("required", ())}
        case "array":
            items = schema.get("prefixItems") or [schema.get("items") or {}] * schema.get("minItems", 0)
            return [sample_of(item, parts) for item in items]
        case "string" if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
        case "integer" | "number" as kind:
            return schema.get("minimum", _SAMPLES[kind])
        case kind:
            return _SAMPLES.get(kind or "")
