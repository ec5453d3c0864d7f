"""Routes that ask who calls before they read what was sent, and look at how much it is before they take it apart."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from penstock.server.dependencies import service_only, user_or_service

_CHECKS = (service_only, user_or_service)

MAX_VALUES = 100_000
MAX_CONTAINERS = 20_000
"""In a JSON body. Reading as many takes ten milliseconds, in which nobody else is answered: not even in a thread does
Python let go of others meanwhile. A body of 1 MiB could have ten times as many."""


class CheckedRoute(APIRoute):
    """FastAPI reads a request's body before it asks any dependency, so a stranger could have it wait for one. Where a
    route takes a `Caller` or the `Service`, that is asked first: APIRouter(route_class=CheckedRoute)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        check = next((check for check in _CHECKS if _asks(self.dependant, check)), None)

        async def handle_if_known(request: Request) -> Response:
            if check is not None:
                await check(request)
            return await handle(_Measured(request.scope, request.receive))

        return handle_if_known


class _Measured(Request):
    async def json(self) -> Any:
        refuse_many(await self.body())
        return await super().json()


def refuse_many(body: bytes) -> None:
    """Refuses a body of too many values."""
    containers = body.count(b"[") + body.count(b"{")
    if containers > MAX_CONTAINERS or containers + body.count(b",") > MAX_VALUES:
        # FastAPI takes any other for a fault of the JSON
        raise HTTPException(
            413, f"the body has more than {MAX_VALUES:,} values, or {MAX_CONTAINERS:,} lists and objects"
        )


def _asks(dependant: Dependant, check: Callable[..., object]) -> bool:
    return any(each.call is check or _asks(each, check) for each in dependant.dependencies)
