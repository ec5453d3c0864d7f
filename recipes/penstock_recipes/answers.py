"""Bodies that do not fit, in APIs whose clients know 400 for it and not 422."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from penstock.server import CheckedRoute, Problem


class Refusing(CheckedRoute):
    """A route that answers 400 to what does not fit, and names the fields."""

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
                told = "; ".join(f"{each['field']}: {each['problem']}".removeprefix(": ") for each in errors)
                raise Problem(400, f"Invalid request: {told}", errors=errors) from None

        return refuse


def _field(where: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in where[1:])
