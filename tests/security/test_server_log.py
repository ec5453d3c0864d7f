"""What a user asked for, and was refused, is not in the log of the database server: neither the arguments, nor their
token's claims."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock import Flow, Penstock
from penstock.errors import InvalidInput
from penstock.job import NewJob
from tests.kit.fixtures import Connect
from tests.server.api import Api
from tests.sql.neighbours import act_as, claims_of

SECRET = "xyzzy-of-alice-0451"


@pytest.fixture
def log_since(connect: Connect) -> Callable[[], str]:
    """What the server has written since the test began."""
    [(folder,)] = connect().execute("show data_directory").fetchall()
    file = Path(folder).parents[1] / "postgres.log"
    before = file.stat().st_size

    def read() -> str:
        with file.open("rb") as log:
            log.seek(before)
            return log.read().decode(errors="replace")

    return read


async def test_refused_requests_leave_no_arguments_there(
    app: Penstock, api: Api, connect: Connect, log_since: Callable[[], str]
) -> None:
    @app.job(users=True, quota="daily", unique=True)
    async def export(document: str) -> None: ...

    @app.job
    async def closed(document: str) -> None: ...

    @app.flow(users=True, quota="daily")
    def book(document: str) -> Flow:
        flow = Flow(then=export.prepare(document))
        flow.add(closed.prepare(document))
        return flow

    app.quota("daily", per_day=1)
    user = api.user(f"alice {SECRET}", org="alices")
    statuses = []
    key = {"Idempotency-Key": "k"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("", {"kind": "export", "args": {"document": SECRET}}),
        ("", {"kind": "export", "args": {"document": f"another {SECRET}"}}),
        ("", {"kind": "export", "args": {"document": SECRET}, "org": "bobs"}),
        ("", {"kind": "closed", "args": {"document": SECRET}}),
        ("", {"kind": "export", "args": {"document": SECRET, "more": SECRET}}),
        ("", {"kind": "export", "args": {"document": SECRET + "x" * 200_000}}),
        ("", {"kind": "book", "args": {"document": SECRET}}),
        ("", {"kind": "book", "args": {"document": SECRET}, "org": "bobs"}),
        ("/batch", {"jobs": [{"kind": "export", "args": {"document": SECRET}}] * 3}),
        ("/batch", {"jobs": [{"kind": "closed", "args": {"document": SECRET}}] * 3}),
        ("/batch", {"jobs": [{"kind": "export", "args": {"document": SECRET}}], "org": "bobs"}),
    ]
    for path, body in requests:
        answer = await user.post(f"/api/jobs{path}", body, headers=key if "org" not in body else {})
        statuses.append(answer.status_code)
    assert statuses[0] == 202
    assert all(400 <= status < 500 for status in statuses[1:]), statuses
    await api.service.post("/api/jobs", {"kind": "export", "args": {"document": SECRET}}, headers=key)
    await api.service.post("/api/jobs", {"kind": "export", "args": {"document": SECRET * 2}}, headers=key)

    # as a gateway of users does it in SQL, with parameters
    connection = connect()
    for kind, args in (("export", {"document": SECRET * 3}), ("closed", {"document": SECRET}), ("export", [SECRET])):
        with connection.transaction(force_rollback=True):
            act_as(connection, "authenticated", claims_of(f"alice {SECRET}"))
            with pytest.raises(psycopg.Error):
                connection.execute("select * from penstock.start(%s, %s)", [kind, Jsonb(args)])
    # and what the application itself is refused
    refused: list[dict[str, Any]] = [
        {"unique_key": SECRET, "parent": NewJob(kind="x").id},
        {"args": b'["%s"]' % SECRET.encode()},
    ]
    for about in refused:
        with pytest.raises(InvalidInput):
            app.engine.enqueue([NewJob(kind="export", **about)])
    written = log_since()
    assert "ERROR" in written
    assert SECRET not in written, [line for line in written.splitlines() if SECRET in line][:5]
