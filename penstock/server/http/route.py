"""Routes that ask who calls before they read what was sent."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from penstock.server.services import service_only, user_or_service

_CHECKS = (service_only, user_or_service)


class CheckedRoute(APIRoute):
    """FastAPI reads a request's body before it asks any dependency, so a stranger could have it wait for one. Where a
    route takes a `Caller` or the `Service`, that is asked first: APIRouter(route_class=CheckedRoute)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        check = next((check for check in _CHECKS if _asks(self.dependant, check)), None)
        if check is None:
            return handle

        async def handle_if_known(request: Request) -> Response:
            await check(request)
            return await handle(request)

        return handle_if_known


def _asks(dependant: Dependant, check: Callable[..., object]) -> bool:
    return any(each.call is check or _asks(each, check) for each in dependant.dependencies)
