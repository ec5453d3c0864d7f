"""How the routes of several recipes answer: {"success": true, "data": …}, and 400 with the field's name to what does
not fit, in APIs whose clients do not know 422."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from penstock.server import CheckedRoute, Problem, problem_of

T = TypeVar("T")


class Success(BaseModel, Generic[T]):
    model_config = ConfigDict(extra="forbid")

    success: Literal[True] = True
    data: T


def success(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = msgspec.json.encode({"success": True, "data": data})
    return Response(body, status, headers, "application/json")


def refused(field: str, problem: str) -> Problem:
    """400, naming the field."""
    return Problem(400, f"{field}: {problem}", errors=[{"field": field, "problem": problem}])


def refusing(tag: str, prefix: str = "") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=Refusing)


class Refusing(CheckedRoute):
    """A route that answers 400 to what does not fit, and names the fields."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def refuse(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                found = problem_of(error)
                raise Problem(400, f"Invalid request: {found.detail}", headers=found.headers, **found.extra) from None

        return refuse
