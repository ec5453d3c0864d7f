"""Whether an answer is one that the OpenAPI description promises."""

import re
from typing import Any

import httpx
import jsonschema_rs


class Description:
    def __init__(self, openapi: dict[str, Any]) -> None:
        self._components = openapi["components"]
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods)
            for path, methods in sorted(openapi["paths"].items(), key=lambda each: "{" in each[0])
        ]

    def check(self, answer: httpx.Response) -> None:
        """Its status is documented, and its body is as it says."""
        path, method = answer.request.url.path, answer.request.method.lower()
        for pattern, methods in self._paths:
            if pattern.fullmatch(path) and method in methods:
                break
        else:
            assert answer.status_code in (404, 405), f"{method} {path} is not described"
            return
        documented = methods[method]["responses"].get(str(answer.status_code))
        assert documented is not None, f"{method} {path}: {answer.status_code} is not described: {answer.text}"
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if not answer.content:
            assert "content" not in documented
            return
        schema = documented["content"][kind]["schema"]
        jsonschema_rs.validate({**schema, "components": self._components}, answer.json())
