"""What a user asked for, and was refused, is not in the log of the database server: neither the arguments, nor their
token's claims."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock import Flow, Penstock
from penstock.engine.postgres.migrate import migrate
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


TASK = {"p_task_id": "01a1e011-4376-76a7-8b10-c6987fb0b9ff", "p_worker_id": SECRET}
NUL = {SECRET: f"{SECRET}\0"}
HUGE = 10**40 + 451
UNFIT_CALLS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("heartbeat_task", None, TASK | {"p_task_id": SECRET}),
    ("heartbeat_task", None, TASK | {"p_worker_id": f"{SECRET}\0"}),
    ("heartbeat_task", None, TASK | {"p_task_id": {SECRET: SECRET}}),
    ("complete_task", None, TASK | {"p_output": NUL}),
    ("complete_task", None, TASK | {"p_output": [{SECRET + "\0": SECRET}]}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_max_tasks": SECRET}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_max_tasks": HUGE}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_max_tasks": 10.0**20}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_queues": SECRET}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_queues": [[SECRET], SECRET]}),
    ("claim_tasks", None, {"p_worker_id": SECRET, "p_queues": [f"{SECRET}\0"]}),
    ("send", "pgmq_public", {"queue_name": SECRET, "message": NUL}),
    ("send", "pgmq_public", {"queue_name": SECRET, "message": {"of": SECRET}, "sleep_seconds": SECRET}),
    ("send", "pgmq_public", {"queue_name": f"{SECRET}\0", "message": {}}),
    ("send_batch", "pgmq_public", {"queue_name": "q", "messages": [NUL]}),
    ("send_batch", "pgmq_public", {"queue_name": "q", "messages": SECRET}),
    ("send_batch", "pgmq_public", {"queue_name": "q", "messages": [[{"of": SECRET}], {"of": SECRET}]}),
    ("archive", "pgmq_public", {"queue_name": "q", "message_id": HUGE}),
    ("archive", "pgmq_public", {"queue_name": "q", "message_id": SECRET}),
]
UNFIT_ROWS: list[tuple[str, dict[str, Any]]] = [
    ("jobs", {"type": "export", "params": NUL}),
    ("jobs", {"type": f"{SECRET}\0"}),
    ("jobs", {"type": "export", "params": [SECRET]}),
    ("jobs", {"type": "export", "params": {"of": SECRET}, "status": "complete"}),
    ("job_tasks", {"job_id": SECRET, "task_type": SECRET}),
    ("job_tasks", {"job_id": TASK["p_task_id"], "task_type": SECRET, "sequence": SECRET}),
    ("job_tasks", {"job_id": TASK["p_task_id"], "task_type": SECRET, "sequence": HUGE, "input": {"of": SECRET}}),
    ("job_artifacts", {"job_id": TASK["p_task_id"], "file_size_bytes": HUGE, "storage_path": SECRET}),
    ("job_artifacts", {"job_id": TASK["p_task_id"], "duration_seconds": SECRET, "storage_path": SECRET}),
]
UNFIT_FILTERS = [
    f"jobs?id=eq.{SECRET}",
    f"jobs?id=in.({SECRET},{SECRET})",
    f"jobs?created_at=gt.{SECRET}",
    f"jobs?created_at=gt.2026-02-30 {SECRET}",
    f"jobs?params=eq.{SECRET}",
    f'jobs?params=eq.{{"of":"{SECRET}\\u0000"}}',
    f"jobs?type=eq.{SECRET}%00",
    f"job_tasks?sequence=lt.{SECRET}",
    f"job_artifacts?file_size_bytes=lt.{HUGE}",
    f"job_artifacts?duration_seconds=lt.{SECRET}",
    "job_artifacts?duration_seconds=lt.1e451",
]


@pytest.mark.parametrize("who", ["a user", "the service"])
async def test_neither_do_requests_in_postgrests_shape(
    url: str, app: Penstock, api: Api, log_since: Callable[[], str], who: str
) -> None:
    @app.job(users=True)
    def export(of: str = "") -> None: ...

    migrate(url, with_=["pgmq", "supabase"])
    asking = api.service if who == "the service" else api.user(f"alice {SECRET}")
    answers = [
        *[
            await asking.post(f"/rest/v1/rpc/{name}", given, headers={"Content-Profile": schema or "public"})
            for name, schema, given in UNFIT_CALLS
        ],
        *[await asking.post(f"/rest/v1/{view}", row) for view, row in UNFIT_ROWS],
        *[await asking.get(f"/rest/v1/{filter}") for filter in UNFIT_FILTERS],
    ]
    assert all(400 <= answer.status_code < 500 for answer in answers), [answer.text for answer in answers]
    written = log_since()
    assert "ERROR" in written
    for told in (SECRET, SECRET.partition("-")[0], str(HUGE), "1e451"):
        assert told not in written, [line for line in written.splitlines() if told in line][:5]
