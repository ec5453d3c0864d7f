"""What the routes of one server share: made once, found on every request."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any

import psycopg
from fastapi import Depends, Request

from penstock.app import Penstock
from penstock.operations import Operator
from penstock.server.auth.authenticate import Authenticator
from penstock.server.auth.identity import Identity
from penstock.server.http.problems import Problem
from penstock.server.http.traffic import Traffic
from penstock.server.live.hub import Hub
from penstock.server.settings import ServerSettings
from penstock.server.work.upkeep import Upkeep
from penstock.server.work.waiting import WaitingWorkers

_CALLER = "penstock.caller"


@dataclass(frozen=True, slots=True)
class Services:
    """What routes of one server share: a parameter of the type `Shared` is given it."""

    app: Penstock
    settings: ServerSettings
    authenticator: Authenticator
    hub: Hub
    traffic: Traffic = field(default_factory=Traffic)
    upkeep: Upkeep | None = None
    workers: WaitingWorkers | None = None

    def acting_as(self, caller: Identity) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        """A connection in a transaction on the caller's behalf: the database's policies decide what it sees."""
        return self.app.database.acting_as(caller.role, caller.claims)

    def operator(self, caller: Identity) -> Operator:
        """What a service does to others' jobs and files: each deed leaves a line that says who it was."""
        return self.app.operator(caller.name)


async def shared_services(request: Request) -> Services:
    """As a dependency: async, because FastAPI would call any other in a thread, at 200 µs a request."""
    return services_of(request)


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def caller_of(request: Request) -> Identity:
    """Who asks: by bearer token or service key, anonymous without; 401 for what does not verify."""
    known: Identity | None = request.scope.get(_CALLER)
    if known is None:
        known = request.scope[_CALLER] = await services_of(request).authenticator.identify(request.headers)
    return known


async def user_or_service(request: Request) -> Identity:
    caller = await caller_of(request)
    if caller.role == "anon":
        raise Problem(401, "sign in: send Authorization: Bearer <token>", headers={"WWW-Authenticate": "Bearer"})
    return caller


async def service_only(request: Request) -> Identity:
    caller = await user_or_service(request)
    if not caller.is_service:
        raise Problem(403, "this needs the service key")
    return caller


Shared = Annotated[Services, Depends(shared_services)]
Caller = Annotated[Identity, Depends(user_or_service)]
Service = Annotated[Identity, Depends(service_only)]
