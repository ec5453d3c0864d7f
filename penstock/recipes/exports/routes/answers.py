"""How the routes answer: {"success": true, "data": …}, and problems with the statuses that the seed's clients know."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Header
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from penstock import LimitReached, StorageFull
from penstock.recipes.refusing import Refusing
from penstock.server import Problem

T = TypeVar("T")

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A second request with the same key, within a day, gets the job of the first.",
    ),
]


class Shape(BaseModel):
    """Names are camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Success(Shape, Generic[T]):
    success: Literal[True] = True
    data: T


def success(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    body = msgspec.json.encode({"success": True, "data": data})
    return Response(body, status, headers, "application/json")


def refusing(tag: str) -> APIRouter:
    return APIRouter(tags=[tag], route_class=Refusing)


@contextmanager
def within_quotas() -> Iterator[None]:
    """What a user has too much of, in words about exports."""
    try:
        yield
    except StorageFull as error:
        used, limit = (int(number) / 1024 / 1024 for number in re.findall(r"\d+", str(error))[:2])
        raise Problem(
            507,
            f"Storage quota exceeded ({used:.2f}MB / {limit:g}MB). Delete old exports to continue.",
            usedMB=round(used, 2),
            limitMB=round(limit, 2),
        ) from None
    except LimitReached as error:
        if not str(error).startswith("running"):
            raise
        raise Problem(
            429,
            "Export queue full. Please wait for current exports to complete.",
            headers={"Retry-After": str(max(1, int(error.retry_in)))},
        ) from None
