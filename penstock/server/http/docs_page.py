"""GET /docs: the OpenAPI description as a page of our own. No script, nothing from elsewhere, everything escaped."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from penstock.storage.links import address as address_of_request

Described = Mapping[str, Any]

_STYLE = files("penstock.server.http").joinpath("docs_page.css").read_text("utf-8")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


async def show(request: Request) -> Response:
    return HTMLResponse(page(request.app.openapi(), address_of_request.get() or ""), headers=_HEADERS)


def page(described: Described, address: str) -> str:
    """The description as HTML; `address` is where its curl lines go."""
    about, sections = described["info"], _by_tag(described)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(about['title'])} API</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{escape(about['title'])} <small>{escape(about['version'])}</small></h1>",
            *(_prose(paragraph) for paragraph in about.get("description", "").split("\n\n")),
            "<nav>",
            *(f'<a href="#tag-{escape(tag)}">{escape(tag)}</a>' for tag in sections),
            '<a href="openapi.json">openapi.json</a>\n</nav>',
            *(_section(described, address, tag, operations) for tag, operations in sections.items()),
            "</main>\n</body>\n</html>",
        ]
    )


def _by_tag(described: Described) -> dict[str, list[tuple[str, str, Described]]]:
    """Each operation once, under the tag that is its own rather than its neighbours'."""
    sections: dict[str, list[tuple[str, str, Described]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            sections.setdefault(operation["tags"][-1], []).append((method, path, operation))
    return sections


def _section(described: Described, address: str, tag: str, operations: list[tuple[str, str, Described]]) -> str:
    shown = (_operation(described, address, *operation) for operation in operations)
    return "\n".join([f'<h2 id="tag-{escape(tag)}">{escape(tag)}</h2>', *shown])


def _operation(described: Described, address: str, method: str, path: str, operation: Described) -> str:
    body = _body(operation)
    parts = [
        f'<details class="operation" id="{escape(operation["operationId"])}">',
        f'<summary><b class="method {escape(method)}">{escape(method.upper())}</b><code>{escape(path)}</code>'
        f"<span>{escape(operation['summary'])}</span></summary>\n<div>",
        _prose(operation.get("description", "")),
        '<p class="note">Needs a token.</p>' if "security" in operation else "",
        _table("Parameters", _parameters(operation)),
        _table("Body", _fields(described, body[1].get("schema", {})) if body else ()),
        "<h3>Ask</h3>",
        _code(_curl(address, method, path, operation)),
        "<h3>Answers</h3>\n<ul>",
        *(_answer(status, answer) for status, answer in operation["responses"].items()),
        "</ul>\n</div>\n</details>",
    ]
    return "\n".join(filter(None, parts))


def _answer(status: str, answer: Described) -> str:
    told = f"<b>{escape(status)}</b> {_marked(answer['description'])}"
    examples = [media["example"] for media in answer.get("content", {}).values() if "example" in media]
    if not examples:
        return f'<li class="answer">{told}</li>'
    return f'<li class="answer"><details><summary>{told}</summary>{_code(_written(examples[0]))}</details></li>'


def _parameters(operation: Described) -> Iterator[tuple[str, str, str]]:
    for each in operation.get("parameters", ()):
        needed = ", required" if each.get("required") else ""
        yield each["name"], f"{_type(each['schema'])}, in {each['in']}{needed}", each.get("description", "")


def _fields(described: Described, schema: Described) -> Iterator[tuple[str, str, str]]:
    """Of the object that a body is."""
    model = _resolved(described, schema)
    for name, field in model.get("properties", {}).items():
        needed = ", required" if name in model.get("required", ()) else ""
        yield name, f"{_type(field)}{needed}", field.get("description", "")


def _resolved(described: Described, schema: Described) -> Described:
    schema = schema["anyOf"][0] if "anyOf" in schema else schema
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Described = described["components"]["schemas"].get(name, schema)
    return found


def _type(schema: Described) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any JSON")


def _body(operation: Described) -> tuple[str, Described] | None:
    content = operation.get("requestBody", {}).get("content", {})
    return next(iter(content.items()), None)


def _curl(address: str, method: str, path: str, operation: Described) -> str:
    needed = [each for each in operation.get("parameters", ()) if each.get("required")]
    asked = "&".join(f"{each['name']}={{{each['name']}}}" for each in needed if each["in"] == "query")
    url = f"{address}{path}" + (f"?{asked}" if asked else "")
    lines = ["curl" if method == "get" else f"curl -X {method.upper()}"]
    lines[0] += f" {shlex.quote(url)}"
    if "security" in operation:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    if body := _body(operation):
        kind, media = body
        lines.append(f"-H {shlex.quote(f'Content-Type: {kind}')}")
        lines.append(f"-d {shlex.quote(json.dumps(media['example']))}" if "example" in media else "-T resume.pdf")
    return " \\\n  ".join(lines)


def _table(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    shown = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td><td>{_marked(about)}</td></tr>"
        for name, kind, about in rows
    ]
    return "\n".join([f"<h3>{title}</h3>\n<table>", *shown, "</table>"]) if shown else ""


def _written(example: object) -> str:
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _prose(text: str) -> str:
    return f"<p>{_marked(text)}</p>" if text else ""


def _marked(text: str) -> str:
    """Escaped, with `code` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
