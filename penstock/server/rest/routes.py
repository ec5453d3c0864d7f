"""/rest/v1: functions by POST /rest/v1/rpc/{name}, views by GET and POST /rest/v1/{name}, as PostgREST has them.

Each request is one transaction under the role of its token, with the token's claims: what it may do is the database's
to decide, by grants and row level security. Of the database nothing can be named but what the catalogue holds.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from fastapi import APIRouter, Request
from psycopg.rows import tuple_row
from starlette.responses import Response

from penstock.engine.postgres.connections import pipeline
from penstock.engine.postgres.statement import Statement
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services, caller_of, services_of
from penstock.server.http.body import body_of
from penstock.server.http.route import refuse_many
from penstock.server.rest.answers import EXACT, Answer, preferences, refuse_many_or_none, wants_one
from penstock.server.rest.calls import call, function_of, missing, read_arguments, schema_of
from penstock.server.rest.catalog import Function, View
from penstock.server.rest.errors import Refused, refused_of
from penstock.server.rest.queries import Query, insert, read_query, read_rows
from penstock.server.rest.values import refuse_nul

STATEMENT_TIMEOUT = 8.0
"""Seconds, as Supabase has it for its users."""

_SETTINGS = (
    "select pg_catalog.set_config('statement_timeout', %s, true),"
    " pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)"
)
_OTHERS = ["GET", "HEAD", "PUT", "PATCH", "DELETE"]

# PostgREST describes itself in a way of its own; ours is in the guide
router = APIRouter(include_in_schema=False)


@router.post("/rest/v1/rpc/{name}")
async def call_function(name: str, request: Request) -> Response:
    async def answer(caller: Identity, services: Services) -> Response:
        schema = schema_of(request.headers.get("content-profile"))
        if EXACT in preferences(request):
            raise Refused(400, "PGRST100", f"Prefer: {EXACT}: results of functions are not counted here")
        for parameter in request.query_params:
            raise Refused(400, "PGRST100", f"{parameter[:63]}: results of functions are not filtered here")
        body = await _body(request, caller)
        arguments = read_arguments(body)
        function = function_of(schema, name, arguments)
        refuse_nul(body.decode(), arguments)
        single = wants_one(request) and function.shape != "value"
        try:
            found = await _run(services, caller, call(schema, name, function, arguments, body), single=single)
        except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName) as error:
            if services.app.database.schema in str(error).split("\n")[0]:
                raise
            raise _not_added(missing(schema, name, arguments, function), function) from error
        return found.response(single=single)

    return await _answered(request, answer)


@router.api_route("/rest/v1/rpc/{name}", methods=_OTHERS)
async def refuse_method_of_function(name: str, request: Request) -> Response:
    """PostgREST calls functions that only read by GET; each of these writes."""

    async def answer(_: Identity, __: Services) -> Response:
        raise Refused(405, "25006", f"{name[:63]} writes: call it with POST", headers={"Allow": "POST"})

    return await _answered(request, answer)


@router.api_route("/rest/v1/{name}", methods=["GET", "HEAD"])
async def read_view(name: str, request: Request) -> Response:
    async def answer(caller: Identity, services: Services) -> Response:
        query = read_query(schema_of(request.headers.get("accept-profile")), name, request.query_params.multi_items())
        single = wants_one(request)
        statement = query.statement(counted=EXACT in preferences(request))
        found = await _of_view(query, _run(services, caller, statement, single=single))
        shown = f"{query.offset}-{query.offset + found.rows - 1}" if found.rows else "*"
        headers = {"Content-Range": f"{shown}/{'*' if found.of is None else found.of}"}
        return found.response(206 if found.rows < (found.of or 0) else 200, single=single, headers=headers)

    return await _answered(request, answer)


@router.post("/rest/v1/{name}")
async def insert_rows(name: str, request: Request) -> Response:
    async def answer(caller: Identity, services: Services) -> Response:
        schema = schema_of(request.headers.get("content-profile"))
        asked = [(key, value) for key, value in request.query_params.multi_items() if key != "columns"]
        query = read_query(schema, name, asked)
        prefer = preferences(request)
        if any(each.startswith("resolution=") for each in prefer):
            raise Refused(400, "PGRST100", "an upsert is not understood here")
        rows = read_rows(await _body(request, caller))
        returning = "return=representation" in prefer
        single = returning and wants_one(request)
        made = await _of_view(query, _run(services, caller, insert(query, rows, returning=returning), single=single))
        headers = {"Content-Range": f"*/{made.rows}"} if EXACT in prefer else None
        return made.response(201, single=single, headers=headers) if returning else Response(None, 201, headers)

    return await _answered(request, answer)


@router.api_route("/rest/v1/{name}", methods=["PUT", "PATCH", "DELETE"])
async def refuse_method_of_view(name: str, request: Request) -> Response:
    async def answer(_: Identity, __: Services) -> Response:
        raise Refused(405, "PGRST117", f"{name[:63]} can be read and added to", headers={"Allow": "GET, POST"})

    return await _answered(request, answer)


async def _answered(request: Request, answer: Callable[[Identity, Services], Awaitable[Response]]) -> Response:
    """Who asks is found out before anything else is looked at."""
    caller = None
    try:
        caller = await caller_of(request)
        return await answer(caller, services_of(request))
    except Exception as error:
        return refused_of(error, caller).response()


async def _body(request: Request, caller: Identity) -> bytes:
    body = await body_of(request, caller)
    refuse_many(body)
    return body


async def _run(services: Services, caller: Identity, statement: Statement[Answer], *, single: bool) -> Answer:
    """`single`: whatever has not one row is undone."""
    async with services.acting_as(caller) as connection:
        async with pipeline(connection):
            await connection.execute(_SETTINGS, [f"{STATEMENT_TIMEOUT * 1000:.0f}ms"])
            # not connection.cursor(): how rows are read is ours to say
            cursor: psycopg.AsyncCursor[Any] = psycopg.AsyncCursor(connection, row_factory=tuple_row)
            await cursor.execute(statement.text.encode(), statement.params)
            answer = statement.read(await cursor.fetchall())
        if single:
            refuse_many_or_none(answer.rows)
        return answer


async def _of_view(query: Query, running: Awaitable[Answer]) -> Answer:
    try:
        return await running
    except psycopg.errors.UndefinedTable as error:
        message = f"Could not find the table '{query.schema}.{query.name}' in the schema cache"
        raise _not_added(Refused(404, "PGRST205", message), query.view) from error


def _not_added(refused: Refused, what: Function | View) -> Refused:
    refused.body["hint"] = f"the database does not have it: penstock migrate --with {what.adapter}"
    return refused
