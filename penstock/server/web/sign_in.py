"""POST /api/development/sign-in: the code in a link that `penstock up` has printed becomes a token."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, StringConstraints

from penstock.server.auth.development import SignIn
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute


class Code(BaseModel):
    code: Annotated[str, StringConstraints(max_length=100)]


def sign_in_routes(sign_in: SignIn) -> APIRouter:
    router = APIRouter(route_class=CheckedRoute)

    @router.post("/api/development/sign-in", include_in_schema=False)
    async def sign_in_by_code(body: Code) -> dict[str, str]:
        token = sign_in.token(body.code)
        if token is None:
            raise Problem(401, "code: is not the one of this server; open the link that `penstock up` has printed")
        return {"token": token}

    return router
