"""How the routes answer: {"success": true, "data": …}, and 400 with the field's name to what does not fit."""

from collections.abc import Mapping
from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from penstock.server import Problem
from penstock_recipes.answers import Refusing
from penstock_recipes.storable import StorableText

T = TypeVar("T")

LARGEST = 2**63 - 1


Id = Annotated[int, Field(ge=1, le=LARGEST)]
Address = Annotated[
    StorableText, Field(pattern=r"^https?://[^/\s]\S*$", max_length=2048, examples=["https://example.com"])
]
UserId = Annotated[StorableText, Field(min_length=1, max_length=500)]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Success(Shape, Generic[T]):
    success: Literal[True] = True
    data: T


def success(data: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode({"success": True, "data": data}), 200, headers, "application/json")


def refused(field: str, problem: str) -> Problem:
    """400, naming the field."""
    return Problem(400, f"{field}: {problem}", errors=[{"field": field, "problem": problem}])


def refusing(tag: str) -> APIRouter:
    return APIRouter(prefix="/api/v1/bookmarks", tags=[tag], route_class=Refusing)
