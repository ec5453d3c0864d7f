"""How the routes answer: {"success": true, "data": …}, and problems with the statuses that the seed's clients know."""

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from penstock import LimitReached, StorageFull
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


class Refusing(APIRoute):
    """Answers 400 to what does not fit, as this API does, and not 422."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def refuse(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                errors = [
                    {"field": _field(each["loc"]), "problem": each["msg"].removeprefix("Value error, ")}
                    for each in error.errors()
                ]
                told = "; ".join(f"{each['field']}: {each['problem']}" if each["field"] else each["problem"]
                                 for each in errors)  # fmt: skip
                raise Problem(400, f"Invalid request: {told}", errors=errors) from None

        return refuse


def refusing(tag: str) -> APIRouter:
    return APIRouter(tags=[tag], route_class=Refusing)


def _field(where: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in where[1:]) if len(where) > 1 else ""


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
