"""Jobs, tasks and artifacts over /rest/v1, as supabase-js reads and writes tables."""

from typing import Any

from penstock import Penstock
from tests.server.api import Api
from tests.server.rest.conftest import Rest

MADE = {"Prefer": "return=representation"}
ONE = {"Accept": "application/vnd.pgrst.object+json"}


async def make(service: Rest, owner: str = "alice", tasks: int = 3) -> tuple[str, list[str]]:
    """A job of tasks, as a back end makes it."""
    row = {"user_id": owner, "type": "nuclear_v2", "params": {"of": owner}, "status": "queued"}
    job = (await service.ask.post("/rest/v1/jobs?select=id", row, headers=MADE | ONE)).json()["id"]
    given = [
        {"job_id": job, "task_type": "text_generation", "sequence": n, "input": {"chapter": n}} for n in range(tasks)
    ]
    answer = await service.ask.post(
        '/rest/v1/job_tasks?columns="job_id","task_type","sequence","input"&select=*', given, headers=MADE
    )
    assert answer.status_code == 201, answer.text
    return job, [each["id"] for each in answer.json()]


async def test_a_job_is_inserted_done_and_seen(service: Rest, user: Rest) -> None:
    job, tasks = await make(service)
    claimed: Any = await service.rpc("claim_tasks", p_worker_id="w1", p_max_tasks=2, p_task_types=["text_generation"])
    assert [each["id"] for each in claimed] == tasks[:2]
    assert (claimed[0]["status"], claimed[0]["worker_id"], claimed[0]["input"]) == ("claimed", "w1", {"chapter": 0})
    assert await service.rpc("heartbeat_task", p_task_id=tasks[0], p_worker_id="w1") is True
    file = {
        "job_id": job, "task_id": tasks[0], "artifact_type": "audio_mp3", "storage_path": f"alice/{job}/audio/1.mp3",
        "public_url": "https://x.supabase.co/1", "file_size_bytes": 9, "duration_seconds": 180,
    }  # fmt: skip
    answer = await service.ask.post("/rest/v1/job_artifacts", file)
    assert (answer.status_code, answer.content) == (201, b"")
    assert await service.rpc("complete_task", p_task_id=tasks[0], p_worker_id="w1", p_output={"words": 3}) is True

    seen = (await user.ask.get(f"/rest/v1/jobs?select=*&id=eq.{job}", headers=ONE)).json()
    assert (seen["status"], seen["user_id"], seen["type"]) == ("processing", "alice", "nuclear_v2")
    assert seen["progress"] | {"percent": 0} == {
        "percent": 0, "phase": "text", "docsComplete": 1, "docsTotal": 3, "message": None,
    }  # fmt: skip
    [artifact] = (await user.ask.get(f"/rest/v1/job_artifacts?job_id=eq.{job}")).json()
    assert artifact | file == artifact

    for task in tasks[1:]:
        [*_] = [await service.rpc("claim_tasks", p_worker_id="w1", p_max_tasks=5)]
        assert await service.rpc("complete_task", p_task_id=task, p_worker_id="w1") is True
    seen = (await user.ask.get(f"/rest/v1/jobs?id=eq.{job}", headers=ONE)).json()
    assert (seen["status"], seen["progress"]["percent"], seen["progress"]["phase"]) == ("complete", 100, "complete")


async def test_rows_are_chosen_ordered_and_counted(service: Rest) -> None:
    job, tasks = await make(service)
    await service.rpc("claim_tasks", p_worker_id="w1")

    async def rows(query: str) -> Any:
        return (await service.ask.get(f"/rest/v1/job_tasks?{query}")).json()

    assert await rows("select=count&status=eq.pending") == [{"count": 2}]
    assert await rows("select=id&order=sequence.desc&limit=2") == [{"id": tasks[2]}, {"id": tasks[1]}]
    assert await rows("select=id&order=sequence.asc&limit=1&offset=1") == [{"id": tasks[1]}]
    assert await rows(f"select=sequence,status&id=in.({tasks[0]},{tasks[2]})&order=sequence") == [
        {"sequence": 0, "status": "claimed"}, {"sequence": 2, "status": "pending"},
    ]  # fmt: skip
    assert await rows('select=sequence&status=in.("claimed","a, b")') == [{"sequence": 0}]
    assert await rows("select=sequence&sequence=gte.1&sequence=lt.2&completed_at=is.null") == [{"sequence": 1}]
    assert await rows(f"select=id&job_id=neq.{job}") == []
    answer = await service.ask.get("/rest/v1/job_tasks?limit=2")
    assert answer.headers["content-range"] == "0-1/*"
    for query, range, status in (
        ("limit=2", "0-1/3", 206),
        ("status=eq.pending", "0-1/2", 200),
        ("sequence=eq.7&offset=1", "*/0", 200),
    ):
        for method in ("GET", "HEAD"):
            counted = await service.ask(method, f"/rest/v1/job_tasks?{query}", headers={"Prefer": "count=exact"})
            assert (counted.status_code, counted.headers["content-range"]) == (status, range)
    for count in ("planned", "estimated"):
        refused = await service.ask.get("/rest/v1/job_tasks", headers={"Prefer": f"count={count}"})
        assert (refused.status_code, refused.json()["code"]) == (400, "PGRST100")
    none = await service.ask.get("/rest/v1/jobs?type=eq.none", headers=ONE)
    assert (none.status_code, none.json()["code"], none.json()["details"]) == (
        406, "PGRST116", "The result contains 0 rows",
    )  # fmt: skip


async def test_users_see_and_start_what_is_theirs(app: Penstock, api: Api, service: Rest) -> None:
    @app.job(users=True, queue="tasks")
    def export(of: str = "") -> None: ...

    alice, bob = api.user("alice"), api.user("bob")
    [job] = (await alice.post("/rest/v1/jobs", {"type": "export", "params": {"of": "d1"}}, headers=MADE)).json()
    assert (job["user_id"], job["status"]) == ("alice", "queued")
    for row, status, code in (
        ({"type": "export", "user_id": "bob"}, 403, "42501"),
        ({"type": "charge_card", "user_id": "alice"}, 403, "PS010"),
        ({"type": "export", "status": "complete"}, 400, "22023"),
        ({"type": "export", "params": [1]}, 400, "22023"),
    ):
        answer = await alice.post("/rest/v1/jobs", row)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    theirs, tasks = await make(service, "bob")
    refused = await alice.post("/rest/v1/job_tasks", {"job_id": theirs, "task_type": "x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "42501")
    for view, mine in (("jobs", [job["id"]]), ("job_tasks", [job["id"]]), ("job_artifacts", [])):
        found = (await alice.get(f"/rest/v1/{view}?select=id")).json()
        assert [each["id"] for each in found] == mine
        assert (
            await alice.get(
                f"/rest/v1/{view}?job_id=eq.{theirs}" if view != "jobs" else f"/rest/v1/jobs?id=eq.{theirs}"
            )
        ).json() == []
    assert len((await bob.get("/rest/v1/job_tasks")).json()) == 3
    # what a worker says of itself and of exceptions is not for them
    await service.rpc("claim_tasks", p_worker_id="w1", p_max_tasks=5)
    await service.rpc("fail_task", p_task_id=tasks[0], p_worker_id="w1", p_error="connect to 10.0.0.1: refused")
    for view, rows in (("job_tasks", 3), ("jobs", 1)):
        seen = await bob.get(f"/rest/v1/{view}")
        assert len(seen.json()) == rows
        assert "10.0.0.1" not in seen.text
        assert "w1" not in seen.text


async def test_what_is_no_job_or_task_takes_nothing(service: Rest) -> None:
    job, tasks = await make(service, tasks=1)
    path = {"job_id": job, "task_id": tasks[0], "storage_path": "x", "file_size_bytes": 1}
    for view, row, told in (
        ("job_tasks", {"job_id": tasks[0], "task_type": "x"}, "job_id: "),
        ("job_tasks", {"job_id": job, "task_type": ""}, "task_type: "),
        ("job_tasks", {"job_id": job, "task_type": "x", "status": "complete"}, "status: "),
        ("job_tasks", {"job_id": job, "task_type": "x", "max_attempts": 0}, "max_attempts: "),
        ("job_artifacts", path, "task_id: "),  # nobody has claimed it
        ("job_artifacts", path | {"file_size_bytes": None}, "file_size_bytes: "),
        ("job_artifacts", path | {"storage_path": ""}, "storage_path: "),
    ):
        answer = await service.ask.post(f"/rest/v1/{view}", row)
        assert answer.status_code == 400, answer.text
        assert answer.json()["message"].startswith(told)
    for method in ("PUT", "PATCH", "DELETE"):
        assert (await service.ask(method, "/rest/v1/jobs?id=eq.1")).status_code == 405
    row = {"job_id": job, "task_type": "x"}
    made = await service.ask.post("/rest/v1/job_tasks", [row, row], headers={"Prefer": "count=exact"})
    assert (made.status_code, made.headers["content-range"]) == (201, "*/2")
    upsert = await service.ask.post("/rest/v1/jobs", {"type": "x"}, headers={"Prefer": "resolution=merge-duplicates"})
    assert upsert.status_code == 400
