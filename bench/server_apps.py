"""What `bench.server` serves: our API, and a bare FastAPI that does the same query. Usage: server_apps ours PORT"""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from penstock import Penstock
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.statement import Statement

KEY = "a-service-key-for-benchmarks"
SECRET = "a-secret-for-benchmarks-of-32-byt"

_STATUS = """select id, kind, state::text, attempt, args::text, progress::text, output::text, created_at, started_at,
  finished_at from penstock.get_job(%s)"""


def ours(url: str) -> FastAPI:
    app = Penstock(url)

    @app.job(users=True)
    async def nothing(number: int) -> None: ...

    return app.asgi(service_key=KEY, jwt_secret=SECRET)


class Start(BaseModel):
    kind: str
    args: dict[str, Any]


def bare(url: str) -> FastAPI:
    """As short as it can be written: no tokens, no policies, no checks of arguments."""
    engine = PostgresEngine(lambda: url)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await engine.aclose()

    api = FastAPI(lifespan=lifespan)

    @api.get("/api/jobs/{id}")
    async def status(id: UUID) -> dict[str, Any]:
        [row] = await engine.arun(Statement(_STATUS, [id], list))
        names = (
            "id",
            "kind",
            "state",
            "attempt",
            "args",
            "progress",
            "output",
            "created_at",
            "started_at",
            "finished_at",
        )
        shape = dict(zip(names, row, strict=True))
        shape["args"] = json.loads(shape["args"])
        return shape

    @api.post("/api/jobs", status_code=202)
    async def start(body: Start) -> dict[str, Any]:
        text = "select penstock.enqueue(%s, %s::jsonb)"
        [[id]] = await engine.arun(Statement(text, [body.kind, json.dumps(body.args)], list))
        return {"id": id}

    return api


if __name__ == "__main__":
    which, port = sys.argv[1], int(sys.argv[2])
    asgi = {"ours": ours, "bare": bare}[which](os.environ["BENCH_URL"])
    config = uvicorn.Config(asgi, port=port, http="httptools", loop="uvloop", access_log=False, log_level="warning")
    uvicorn.Server(config).run()
