"""The views that applications join: what they show, and to whom."""

from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock import Context, Fail, JobHandle, Penstock
from penstock.testing import adrain
from tests.kit.fixtures import Connect

LARGE = "One word, and another. " * 200


@pytest.fixture
def app(url: str, tmp_path: Path) -> Penstock:
    return Penstock(url, artifacts=tmp_path)


async def test_a_job_is_in_the_view_from_its_start_to_its_history(app: Penstock, connect: Connect) -> None:
    seen = []

    @app.job
    async def work(ctx: Context, text: str) -> Fail | None:
        seen.append(shown(connect(), ctx.id))
        seen.append(shown(connect(), ctx.id, "live_jobs_view"))
        return Fail("no")

    async with app:
        handle: JobHandle[None] = await work.using(owner="ada", org="acme").aenqueue(text=LARGE)
        assert shown(connect(), handle.id) == ("ready", 0, {"text": LARGE}, None, False, False, False)
        await adrain(app)
    assert seen[0] == seen[1]
    state, attempt, args, errors, has_worker, is_leased, has_ended = seen[0]
    assert (state, attempt, args, errors) == ("running", 1, {"text": LARGE}, None)
    assert (has_worker, is_leased, has_ended) == (True, True, False)
    assert connect().execute("select from penstock.live_jobs_view where id = %s", [handle.id]).rowcount == 0
    state, _, args, errors, _, is_leased, has_ended = shown(connect(), handle.id)
    assert (state, args, errors[-1]["error"], is_leased, has_ended) == ("failed", {"text": LARGE}, "no", False, True)


def shown(connection: psycopg.Connection[Any], id: UUID, view: str = "jobs_view") -> tuple[Any, ...]:
    rows: list[tuple[Any, ...]] = connection.execute(
        f"""
        select state::text, attempt, args, errors, worker is not null, leased_until is not null, finished_at is not null
          from penstock.{view}
         where id = %s and owner = 'ada' and org = 'acme'
        """.encode(),
        [id],
    ).fetchall()
    return rows[0]


def test_live_jobs_have_the_columns_of_all(connect: Connect) -> None:
    columns = "select attname, atttypid from pg_attribute where attrelid = %s::regclass order by attnum"
    every, live = (
        connect().execute(columns, [f"penstock.{name}"]).fetchall() for name in ("jobs_view", "live_jobs_view")
    )
    assert every == live


async def test_users_see_their_own_files_and_no_jobs_past_their_view(app: Penstock, connect: Connect) -> None:
    async with app:
        await app.artifacts.aput("a.txt", b"a", owner="ada")
        await app.artifacts.aput("b.txt", b"b", owner="bob")
    connection = connect()
    everything = "select name, state from penstock.artifacts_view order by name"
    assert connection.execute(everything).fetchall() == [("a.txt", "stored"), ("b.txt", "stored")]
    connection.execute("select set_config('request.jwt.claims', %s, false)", ['{"sub": "ada"}'])
    connection.execute("set role authenticated")
    assert connection.execute(everything).fetchall() == [("a.txt", "stored")]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select from penstock.jobs_view")


def test_an_existence_check_asks_by_id_alone(connect: Connect) -> None:
    """An application that looks for many jobs at once must not have their arguments fetched, nor the workers."""
    plan = "\n".join(
        row[0]
        for row in connect().execute(
            "explain select from penstock.artifacts_view as a "
            "where not exists (select from penstock.jobs_view as j where j.id = a.job)"
        )
    )
    assert "leases" not in plan
    assert "payload" not in plan
