"""POST /api/development/sign-in: the code in a link that `penstock up` has printed becomes a user's token, and
/api/development/dashboard, a way into the dashboard: whoever has it sits at the terminal."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, StringConstraints

from penstock.server.auth.development import SignIn
from penstock.server.http.address import absolute
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute


class Code(BaseModel):
    code: Annotated[str, StringConstraints(max_length=100)]


def sign_in_routes(sign_in: SignIn, way_in: Callable[[], str] | None) -> APIRouter:
    """`way_in` makes a path that opens the dashboard once."""
    router = APIRouter(route_class=CheckedRoute, prefix="/api/development", include_in_schema=False)

    def token_for(code: str) -> str:
        token = sign_in.token(code)
        if token is None:
            raise Problem(401, "code: is not the one of this server; open the link that `penstock up` has printed")
        return token

    @router.post("/sign-in")
    async def sign_in_by_code(body: Code) -> dict[str, str]:
        return {"token": token_for(body.code)}

    if way_in is not None:

        @router.post("/dashboard")
        async def open_dashboard(body: Code) -> dict[str, str]:
            token_for(body.code)
            return {"url": absolute(way_in())}

    return router
