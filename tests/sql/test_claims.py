"""Whom the claims of a token make a caller, however odd they are; and that nothing said in them is ever run."""

import json
from typing import Any

import psycopg
import pytest
from msgspec import Raw
from psycopg import errors

from penstock.engine import commands
from penstock.engine.commands import SeenJob
from penstock.engine.postgres.engine import PostgresEngine
from penstock.errors import InvalidInput, NotAllowed, PenstockError
from tests.kit.fixtures import Connect
from tests.sql.neighbours import ALICE, acting, assert_refused, changed, claims_of, rows_of, settle_in

_MINE = "select penstock.caller(), penstock.caller_orgs(), (select count(*) from penstock.my_jobs)"


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(None, id="missing"),
        "",
        "null",
        "{}",
        "[]",
        "5",
        '"bob"',
        '["bob"]',
        '[{"sub": "bob", "org_id": "bobs"}]',
        '{"sub": null}',
        '{"sub": ""}',
        '{"sub": 5}',
        '{"sub": true}',
        '{"sub": {"sub": "bob"}}',
        '{"sub": ["bob"]}',
        '{"sub": [], "org_id": ["bobs"], "app_metadata": {"org_id": {"a": "bobs"}, "org_ids": {"bobs": "bobs"}}}',
        '{"org_id": null, "app_metadata": null}',
        '{"org_id": "", "app_metadata": "bobs"}',
        '{"app_metadata": ["bobs"]}',
        '{"app_metadata": {"org_ids": "bobs"}}',
        '{"app_metadata": {"org_ids": [null, "", 5, ["bobs"], {"org": "bobs"}]}}',
        '{"user_metadata": {"org_id": "bobs", "org_ids": ["bobs"], "sub": "bob"}}',
        '{"role": "service_role"}',
        '{"Sub": "bob", "SUB": "bob", "owner": "bob", "user_id": "bob"}',
    ],
)
def test_odd_claims_are_nobody_s(url: str, connect: Connect, claims: str | None) -> None:
    settle_in(url)
    with acting(connect(), claims=claims) as connection:
        assert connection.execute(_MINE).fetchone() == (None, [], 0)
        with pytest.raises(psycopg.Error, match="nobody is signed in"):
            connection.execute("select penstock.start('export')")


@pytest.mark.parametrize(
    "claims", ["bob", "{", "{'sub': 'bob'}", '{"sub": "bob"', '{"sub": "bob"} {}', "\\", "%s", "sub=bob"]
)
def test_claims_that_are_no_json_are_an_error_and_grant_nothing(url: str, connect: Connect, claims: str) -> None:
    settle_in(url)
    for text in (
        "select penstock.caller()",
        "select id from penstock.jobs",
        "select id from penstock.my_jobs",
        "select id from penstock.artifacts",
        "select org from penstock.usage",
        "select penstock.start('export')",
    ):
        with acting(connect(), claims=claims) as connection:
            assert_refused(connection, text, errors.InvalidTextRepresentation)


@pytest.mark.parametrize(
    ("claims", "orgs"),
    [
        ({"org_id": "a"}, ["a"]),
        ({"app_metadata": {"org_id": "a"}}, ["a"]),
        ({"app_metadata": {"org_ids": ["a", "b"]}}, ["a", "b"]),
        ({"org_id": "a", "app_metadata": {"org_id": "b", "org_ids": ["b", "c", None, "", 7]}}, ["a", "b", "c"]),
        ({"org_id": "a", "user_metadata": {"org_id": "b"}}, ["a"]),
    ],
)
def test_an_organisation_is_what_the_issuer_says(connect: Connect, claims: dict[str, Any], orgs: list[str]) -> None:
    with acting(connect(), claims=json.dumps({"sub": "ada"} | claims)) as connection:
        found = connection.execute("select penstock.caller(), penstock.caller_orgs()").fetchone()
    assert found is not None
    assert (found[0], sorted(found[1])) == ("ada", orgs)


def test_claims_end_with_their_transaction(connect: Connect) -> None:
    connection = connect()
    with acting(connection):
        pass
    assert connection.execute("select current_user = session_user, penstock.caller()").fetchone() == (True, None)


NASTY = [
    "'", '"', "\\", "\\'", "%s", "%", "%%", "%(role)s", "{}", "$1", "$$", ";", "--", "/*", "\u2019", "é\u202e",
    "'; reset role; select 1; --",
    "bob'); select set_config('role', 'postgres', true); --",
    "\\'; reset role; --",
    "'||(select errors from penstock.jobs)||'",
    "bob' or true --",
    "x\n'; drop schema penstock cascade; --",
    "penstock.jobs",
    "%s'; reset role; --%s",
]  # fmt: skip


@pytest.mark.parametrize("nasty", NASTY)
async def test_nothing_that_a_user_says_is_run(url: str, connect: Connect, nasty: str) -> None:
    settle_in(url)
    superuser = connect()
    before = rows_of(superuser)
    engine = PostgresEngine(lambda: url)
    claims = claims_of(ALICE, org_id=nasty, **{nasty: nasty})
    strange = claims_of(nasty)

    async def try_all(claims: str) -> list[SeenJob]:
        seen: list[SeenJob] = []
        filters: list[dict[str, Any]] = [{nasty: "x"}, {nasty: [nasty]}, {"args": {nasty: nasty}}, {"args": nasty}]
        filters += [{name: value} for name in ("kind", "queue", "owner", "org", "parent", "ids", "state",
                    "created_after", "created_before", "unique_key") for value in (nasty, [nasty])]  # fmt: skip
        for filter in filters:
            try:
                seen += await engine.arun_as("authenticated", claims, commands.SeeMyJobs(filter, None, 50))
            except (InvalidInput, psycopg.DataError):
                continue
        return seen

    assert not await try_all(claims)
    assert not await try_all(strange)
    for role in (nasty, f"authenticated{nasty}", "authenticated, postgres"):
        with pytest.raises((psycopg.Error, PenstockError)):
            await engine.arun_as(role, claims, commands.SeeMyJobs({}, None, 50))
    with pytest.raises(NotAllowed):
        await engine.arun_as("authenticated", claims, commands.Start(nasty, Raw(b"{}")))
    with pytest.raises(NotAllowed):
        await engine.arun_as("authenticated", claims, commands.Start("export", Raw(b"{}"), org=f"bobs{nasty}"))
    with pytest.raises(InvalidInput):
        await engine.arun_as("authenticated", claims, commands.Start("export", Raw(json.dumps(nasty).encode())))
    args = Raw(json.dumps({nasty: [nasty]}).encode())
    started = await engine.arun_as("authenticated", strange, commands.Start("export", args, idempotency_key=nasty))
    seen = await engine.arun_as("authenticated", strange, commands.SeeMyJob(started.id))
    assert seen is not None
    assert (seen.owner, seen.args) == (nasty, {nasty: [nasty]})
    await engine.aclose()
    assert not changed(before, {row: times for row, times in rows_of(superuser).items() if row in before})
