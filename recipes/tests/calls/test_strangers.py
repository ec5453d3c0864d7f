"""Calls belong to organisations: members see and do everything with them, others nothing, in the API and in SQL."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from calls.asking import ACME, GLOBEX, Calls
from calls.conftest import over_both
from shared.asking import names_in
from tests.kit.fixtures import Connect

TABLES = ("calls.calls", "calls.artifacts", "calls.stages", "calls.processing_jobs", "penstock.artifacts")


@over_both
async def test_what_is_another_organisations_is_not_there(calls: Calls, files: Path) -> None:
    ada, eve = calls.user("ada", ACME), calls.user("eve", GLOBEX)
    async with calls.worker():
        id = await ada.upload()
        call = await ada.done(id)
    kept = names_in(files)
    for method, path in (
        ("GET", f"/{id}"), ("DELETE", f"/{id}"), ("POST", f"/{id}/retry"), ("GET", f"/api/jobs/{call['jobId']}"),
        ("GET", f"/api/jobs/{call['jobId']}/stream"), ("DELETE", f"/api/jobs/{call['jobId']}"),
        ("GET", f"/api/artifacts/{call['files']['audio']['artifactId']}"),
        ("DELETE", f"/api/artifacts/{call['files']['audio']['artifactId']}"),
    ):  # fmt: skip
        answer = await eve(method, path)
        assert answer.status_code == 404, (method, path, answer.text)
    assert (await eve.get()).json() == {"calls": [], "nextCursor": None}
    assert (await eve.get(params={"orgId": str(ACME)})).status_code == 403
    assert (await eve.send(org=ACME)).status_code == 403
    assert names_in(files) == kept


async def test_members_share_what_one_of_them_uploaded(calls: Calls) -> None:
    ada, bob = calls.user("ada"), calls.user("bob")
    id = await ada.upload()
    assert (await bob.call(id))["userId"] == "ada"
    [listed] = (await bob.get(params={"orgId": str(ACME)})).json()["calls"]
    assert (listed["id"], listed["status"]) == (id, "queued")
    assert (await bob.get(f"/api/jobs/{listed['jobId']}")).status_code == 200
    assert (await calls.service.call(id))["id"] == id


async def test_the_database_itself_keeps_organisations_apart(calls: Calls, connect: Connect) -> None:
    async with calls.worker():
        await calls.user().done(await calls.user().upload())
    connection = connect()

    def count(table: str) -> int:
        [found] = connection.execute(f"select count(*) from {table}".encode()).fetchone() or [0]
        return int(found)

    def claims(org: object) -> list[Any]:
        return [f'{{"sub": "somebody", "app_metadata": {{"org_id": "{org}"}}}}']

    for org, seen in ((ACME, [1, 3, 4, 4, 3]), (GLOBEX, [0] * 5)):
        with connection.transaction():
            connection.execute("set local role authenticated")
            connection.execute("select set_config('request.jwt.claims', %s, true)", claims(org))
            assert [count(table) for table in TABLES] == seen
            for forbidden in (
                "update calls.calls set file_name = ''",
                "delete from calls.calls",
                "delete from calls.artifacts",
                "insert into calls.calls (id, org_id, file_name, content_type, size, job_id) "
                f"values (gen_random_uuid(), '{org}', '', '', 0, gen_random_uuid())",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(forbidden.encode())
    with connection.transaction():
        connection.execute("set local role anon")
        for table in TABLES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                count(table)


async def test_nobody_asks_about_jobs_that_are_not_theirs(calls: Calls, connect: Connect) -> None:
    await calls.user().upload()
    connection = connect()
    [job] = connection.execute("select job_id from calls.calls").fetchone() or [None]
    for org, rows in ((ACME, 1), (GLOBEX, 0)):
        with connection.transaction():
            connection.execute("set local role authenticated")
            connection.execute(
                "select set_config('request.jwt.claims', %s, true)", [f'{{"sub": "x", "org_id": "{org}"}}']
            )
            assert connection.execute("select * from calls.told_of(%s)", [job]).rowcount == rows
