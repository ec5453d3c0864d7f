"""What an application brings along: tables of its own under row level security, and routes of its own."""

from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fastapi import APIRouter, Request
from starlette.responses import Response

from penstock import InvalidInput, Penstock
from penstock.server import Caller, Problem, Service, Shared, job_response, start, visible_job
from tests.server.api import Api

TABLES = """
create schema notes;
create table notes.notes (id int primary key, owner text not null, job uuid);
alter table notes.notes enable row level security;
create policy own on notes.notes using (owner = (select penstock.caller()));
grant usage on schema notes to authenticated;
grant select, insert on notes.notes to authenticated;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_notes.sql").write_text(TABLES)
    (tmp_path / "README.md").write_text("not a migration")
    return tmp_path


@pytest.fixture
def app(app: Penstock, folder: Path) -> Penstock:
    app.add_migrations("notes", folder)

    @app.job(users=True)
    def tidy(id: int) -> None: ...

    router = APIRouter()

    @router.post("/api/notes/{id}")
    async def add(id: int, caller: Caller, shared: Shared) -> dict[str, Any]:
        if id < 0:
            raise Problem(409, "notes have positive numbers")
        job = await start(shared.app, caller, "tidy", {"id": id})
        async with shared.acting_as(caller) as connection:
            await connection.execute("insert into notes.notes values (%s, penstock.caller(), %s)", [id, job.id])
        return {"id": id, "job": job.id}

    @router.get("/api/notes")
    async def mine(caller: Caller, shared: Shared) -> list[int]:
        async with shared.acting_as(caller) as connection:
            rows = await (await connection.execute("select id from notes.notes order by id")).fetchall()
        return [row[0] for row in rows]

    @router.get("/api/jobs/{id:uuid}")
    async def in_its_own_words(id: UUID, request: Request, caller: Caller, shared: Shared) -> Response:
        """How a job is doing, and what it is to the notes."""
        job = await visible_job(shared, caller, id)
        return await job_response(request, shared, caller, job, lambda told: {**told, "note": job.args["id"]})

    def make_upkeep() -> APIRouter:
        router = APIRouter()

        @router.post("/api/notes-upkeep")
        async def upkeep(_: Service) -> str:
            return "done"

        return router

    app.add_routes(router)
    app.add_routes(make_upkeep)
    app.migrate()
    return app


async def test_each_user_sees_their_own_rows_through_the_applications_routes(api: Api) -> None:
    for user, id in (("alice", 1), ("alice", 2), ("bob", 3)):
        assert (await api.user(user).post(f"/api/notes/{id}")).status_code == 200
    assert (await api.user("alice").get("/api/notes")).json() == [1, 2]
    assert (await api.user("bob").get("/api/notes")).json() == [3]


async def test_its_routes_have_the_servers_callers_and_problems(api: Api) -> None:
    assert (await api.nobody.get("/api/notes")).status_code == 401
    assert (await api.user().post("/api/notes-upkeep")).status_code == 403
    assert (await api.service.post("/api/notes-upkeep")).json() == "done"
    refused = await api.user().post("/api/notes/-1")
    assert (refused.status_code, refused.headers["content-type"]) == (409, "application/problem+json")
    assert "/api/notes" in (await api.nobody.get("/openapi.json")).json()["paths"]


async def test_its_routes_come_before_the_servers_own(api: Api, app: Penstock) -> None:
    id = (await api.user().post("/api/notes/7")).json()["job"]
    answer = await api.user().get(f"/api/jobs/{id}")
    told = answer.json()
    assert (told["id"], told["kind"], told["state"], told["note"]) == (id, "tidy", "ready", 7)
    same = await api.user().get(f"/api/jobs/{id}", headers={"If-None-Match": answer.headers["etag"]})
    assert same.status_code == 304
    assert (await api.user("bob").get(f"/api/jobs/{id}")).status_code == 404
    assert (await api.user().get("/api/jobs/batch")).status_code == 405
    assert (await api.user().delete(f"/api/jobs/{id}")).json()["state"] == "cancelled"
    described = (await api.nobody.get("/openapi.json")).json()["paths"]["/api/jobs/{id}"]
    assert described["get"]["description"].startswith("How a job is doing, and what")
    assert described["delete"]["operationId"] == "cancel_job"


async def test_its_migrations_are_applied_once_each(app: Penstock, folder: Path) -> None:
    assert app.migrate().applied == ()
    (folder / "0002_more.sql").write_text("alter table notes.notes add column text text")
    app.add_migrations("notes", folder)
    assert app.migrate().applied == ("notes 0002_more",)
    assert app.migrate().applied == ()


async def test_a_migration_that_fails_changes_nothing(app: Penstock, folder: Path) -> None:
    (folder / "0002_wrong.sql").write_text("create table notes.half (id int); select 1 / 0")
    app.add_migrations("notes", folder)
    with pytest.raises(psycopg.errors.DivisionByZero):
        app.migrate()
    (folder / "0002_wrong.sql").write_text("create table notes.half (id int)")
    app.add_migrations("notes", folder)
    assert app.migrate().applied == ("notes 0002_wrong",)


def test_a_file_without_a_number_of_its_own_is_refused(folder: Path) -> None:
    app = Penstock("postgresql://nowhere")
    (folder / "0001_again.sql").write_text("")
    with pytest.raises(InvalidInput, match="number of its own"):
        app.add_migrations("notes", folder)
