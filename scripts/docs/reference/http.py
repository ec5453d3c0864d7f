"""The HTTP API, of the description that the server itself answers with at /openapi.json."""

import json
from collections.abc import Iterator
from typing import Any

from penstock import Penstock
from scripts.docs.reference.tables import code, prose, table

JSON = "application/json"


def page() -> str:
    described = description()
    sections: dict[str, list[str]] = {}
    for method, path, operation in operations(described):
        sections.setdefault(operation["tags"][-1], []).append(_one(method, path, operation))
    return "\n".join(
        [
            "# HTTP",
            "",
            prose(described["info"]["description"]),
            "",
            "A server answers the same at `/docs`, and as OpenAPI at `/openapi.json`.",
            "",
            *(f"## {tag}\n\n" + "\n".join(shown) for tag, shown in sections.items()),
            "## Shapes\n",
            *(_model(name, schema) for name, schema in sorted(described["components"]["schemas"].items())),
        ]
    )


def description() -> dict[str, Any]:
    described: dict[str, Any] = Penstock("postgresql:///nowhere").asgi(service_key="not a key that is used").openapi()
    return described


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def _one(method: str, path: str, operation: dict[str, Any]) -> str:
    # the whole path as a heading: it is what people look for
    parts = [f"### {method.upper()} {path.replace('{', '&#123;').replace('}', '&#125;')}\n"]
    parts.append(f"**{operation['summary']}.** " + prose(operation.get("description", "")) + "\n")
    parts.append(
        table(
            ("parameter", "in", "type", "default", ""),
            [
                (code(each["name"]), each["in"], _type(each["schema"]), _default(each["schema"], each.get("required")),
                 each.get("description", ""))
                for each in operation.get("parameters", ())
            ],
        )
    )  # fmt: skip
    for kind, media in operation.get("requestBody", {}).get("content", {}).items():
        shape = _type(media.get("schema", {}))
        parts.append(f"Body: {code(kind)}{f', {shape}' if kind == JSON and shape else ''}\n")
        if "example" in media:
            parts.append(_json(media["example"]))
    parts.append(table(("answer", "", "shape"), [_answer(*each) for each in operation["responses"].items()]))
    for answer in operation["responses"].values():
        examples = [each["example"] for each in answer.get("content", {}).values() if "example" in each]
        if examples:
            parts.append(_json(examples[0]))
            break
    return "\n".join(parts)


def _answer(status: str, answer: dict[str, Any]) -> tuple[str, str, str]:
    shapes = {_type(each.get("schema", {})) for each in answer.get("content", {}).values()}
    return code(status), answer["description"], ", ".join(sorted(shapes - {"", "`any JSON`"}))


def _model(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (code(field), _type(about), _default(about, field in required), about.get("description", ""))
        for field, about in schema.get("properties", {}).items()
    ]
    about = prose(schema.get("description", ""))
    return f"### {name}\n\n{about}\n\n" + (table(("field", "type", "default", ""), rows) or _type(schema) + "\n")


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"anyOf": choices} | {"oneOf": choices}:
            named = [_type(each) for each in choices if each.get("type") != "null"]
            return " or ".join(named) + (" or null" if len(named) < len(choices) else "")
        case {"$ref": name}:
            shape = str(name).rpartition("/")[2]
            return f"[{shape}](#{shape.lower().replace('.', '')})"
        case {"enum": values}:
            return " or ".join(code(json.dumps(value)) for value in values)
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": list() as kinds}:
            return " or ".join(kinds)
    return str(schema.get("format") or schema.get("type") or ("" if not schema else "any JSON"))


def _default(schema: dict[str, Any], required: object) -> str:
    if required:
        return "required"
    return code(json.dumps(schema["default"])) if schema.get("default") is not None else ""


def _json(example: object) -> str:
    written = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
    return f"```json\n{written}\n```\n"
