"""The protocol by hand, as a worker in another language speaks it."""

import asyncio
import time
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from penstock import JobState, NewJob
from penstock.engine import commands
from penstock.job import Lease, new_job_id
from penstock.json import encode_args
from penstock.server.work import long_poll, waiting
from tests.kit.fixtures import Connect
from tests.kit.looks import Looks
from tests.kit.until import soon, until
from tests.remote.enqueueing import enqueue, enqueue_job
from tests.remote.serving import Api


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


async def ask(client: httpx.AsyncClient, command: str, **said: Any) -> Any:
    """What a command gives."""
    answer = await client.post(f"/api/work/{command}", json=said)
    assert answer.status_code == 200, answer.text
    assert list(answer.json()) == ["result"]
    return answer.json()["result"]


async def open_lease(client: httpx.AsyncClient, **about: Any) -> int:
    lease: int = await ask(client, "open-lease", worker="by hand", queues=["default"], **about)
    assert (await ask(client, "heartbeat", lease=lease))["seconds"] == about.get("seconds", 30)
    return lease


async def claim(client: httpx.AsyncClient, lease: int, **options: Any) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = await ask(
        client, "claim", **{"lease": lease, "queue": "default", "limit": 10, **options}
    )
    return jobs


def held(job: dict[str, Any]) -> dict[str, Any]:
    return {"id": job["id"], "claims": job["claims"]}


async def until_waiting(watch: psycopg.Connection[Any], *leases: int) -> None:
    async def waits() -> bool:
        found = watch.execute("select lease from penstock.waiting").fetchall()
        return {lease for (lease,) in found} == set(leases)

    await until(waits)


async def until_polling(api: Api) -> None:
    """One request is kept waiting, or looks whether it has to."""

    await until(lambda: api.workers.waiting == 1)


async def test_a_job_from_its_claim_to_its_completion(api: Api, client: httpx.AsyncClient) -> None:
    job = await enqueue_job(
        api, NewJob(kind="convert", args=encode_args({"path": "a", "n": 1}), owner="ada", org="acme", max_attempts=3)
    )
    lease = await open_lease(client)
    [claimed] = await claim(client, lease)
    assert claimed == {
        "id": str(job.id), "kind": "convert", "priority": 0, "turn": claimed["turn"], "attempt": 1,
        "max_attempts": 3, "claims": 1, "snoozes": 0, "owner": "ada", "org": "acme", "parent": None,
        "created_at": claimed["created_at"], "args": {"path": "a", "n": 1}, "options": None,
    }  # fmt: skip
    told = await ask(client, "report-progress", lease=lease, jobs=[{**held(claimed), "progress": {"percent": 50}}])
    assert told == [{"id": str(job.id), "cancel_requested": False}]
    assert (await job.arefresh()).progress == {"percent": 50}
    assert await ask(client, "complete", lease=lease, jobs=[{**held(claimed), "output": [1]}]) == []
    assert await job.aresult(0) == [1]
    again = await ask(client, "complete", lease=lease, jobs=[{**held(claimed), "output": [2]}])
    assert again == [str(job.id)], "refused"
    assert await job.aresult(0) == [1]


async def test_each_outcome_is_told_for_each_job(api: Api, client: httpx.AsyncClient) -> None:
    jobs = [await enqueue(api, "work", number=number) for number in range(6)]
    lease = await open_lease(client)
    claimed = await claim(client, lease)
    one, two, three, four, five, six = map(held, claimed)
    stranger = {"id": str(new_job_id()), "claims": 1}
    stale = {**six, "claims": 7}

    async def say(what: str, *about: dict[str, Any], **more: Any) -> Any:
        return await ask(client, what, lease=lease, jobs=list(about), **more)

    failed = await say(
        "fail",
        {**one, "error": {"error": "no", "retry_in": 1000}},
        {**stranger, "error": {"error": "x"}},
        {**two, "error": {"error": "n\0", "final": True}},
    )
    assert {each["id"]: each["state"] for each in failed} == {one["id"]: "scheduled", two["id"]: "failed"}
    assert all(each["run_at"] for each in failed if each["state"] == "scheduled")
    [snoozed] = await say("snooze", {**three, "seconds": 1000}, {**stale, "seconds": 1})
    assert (snoozed["id"], snoozed["state"]) == (three["id"], "scheduled")
    assert await say("release", four, stranger) == [four["id"]]
    assert await say("stop-cancelled", five, stranger, reason="obsolete") == [five["id"]]
    assert await say("stop-cancelled", six, reason="tired") == [six["id"]]
    records = [await job.arefresh() for job in jobs]
    assert [(record.state.value, record.last_error) for record in records] == [
        ("scheduled", "no"), ("failed", "n\ufffd"), ("scheduled", None), ("ready", None), ("cancelled", "obsolete"),
        ("cancelled", "tired"),
    ]  # fmt: skip


async def test_further_jobs_are_enqueued_with_a_completion_or_not_at_all(api: Api, client: httpx.AsyncClient) -> None:
    await enqueue(api, "work")
    lease = await open_lease(client)
    [claimed] = await claim(client, lease)
    id = str(new_job_id())
    further = [{"kind": "next", "id": id, "args": {"a": 1}, "queue": "later", "max_attempts": 2, "limit_key": "k"}]

    async def complete(about: dict[str, Any], enqueue: list[dict[str, Any]]) -> httpx.Response:
        body = {"lease": lease, "job": about, "enqueue": enqueue}
        return await client.post("/api/work/complete-and-enqueue", json=body)

    stale = await complete({**held(claimed), "claims": 9}, further)
    assert stale.status_code == 200, stale.text
    assert stale.json() == {"result": False}
    assert (await api.app.jobs.alist(queue="later")).jobs == []
    for bad, field in (
        ({"kind": "next", "args": {"a": "\0"}}, "enqueue.0.a"),
        ({"kind": "next", "delay": 1, "run_at": "2030-01-01T00:00:00Z"}, "enqueue.0.delay"),
        ({"kind": "next", "id": str(uuid4())}, "id"),
        ({"kind": "next", "parent": str(new_job_id())}, "parent"),
        ({"kind": "next", "colour": "red"}, "enqueue.0.colour"),
    ):
        refused = await complete(held(claimed), [*further, bad])
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["field"] == field.replace("0", "1"), refused.text
    done = await complete(held(claimed), further)
    assert done.json() == {"result": True}
    again = await complete(held(claimed), further)
    assert (again.status_code, again.json()["errors"][0]["field"]) == (409, "id")
    [page] = [await api.app.jobs.alist(queue="later")]
    assert [(str(job.id), job.args, job.max_attempts) for job in page.jobs] == [(id, {"a": 1}, 2)]


async def test_bad_input_is_refused_by_the_name_of_the_field(api: Api, client: httpx.AsyncClient) -> None:
    lease = await open_lease(client)
    id = str(new_job_id())
    huge = {"lease": 2**63, "queue": "default"}
    for path, body, field in (
        ("open-lease", {}, "worker"),
        ("open-lease", {"worker": "a\0"}, "worker"),
        ("open-lease", {"worker": "a", "seconds": 0}, "seconds"),
        ("claim", {"lease": lease}, "queue"),
        ("claim", {"lease": lease, "queue": "default", "limit": 0}, "limit"),
        ("claim", {"lease": lease, "queue": "default", "wait": 31}, "wait"),
        ("claim", huge, "lease"),
        (
            "report-progress",
            {"lease": lease, "jobs": [{"id": id, "claims": 1, "progress": {"percent": 101}}]},
            "jobs.0.progress.percent",
        ),
        ("complete", {"lease": lease, "jobs": [{"id": "x", "claims": 1}]}, "jobs.0.id"),
        ("complete", {"lease": lease, "jobs": [{"id": id, "claims": 1, "output": {"a": "\0"}}]}, "jobs.0.output.a"),
        ("complete", {"lease": lease, "jobs": [{"id": id, "claims": 1}] * 2}, "jobs"),
        ("fail", {"lease": lease, "jobs": [{"id": id, "claims": 1}]}, "jobs.0.error"),
        ("snooze", {"lease": lease, "jobs": [{"id": id, "claims": 1, "seconds": -1}]}, "jobs.0.seconds"),
        ("release", {"lease": lease, "jobs": []}, "jobs"),
        ("heartbeat", {"lease": lease, "wait": "long"}, "wait"),
        ("claim", {"lease": lease, "queue": "default", "colour": "red"}, "colour"),
        ("wait-for-work", {"lease": lease, "queues": []}, "queues"),
    ):
        answer = await client.post(f"/api/work/{path}", json=body)
        assert answer.status_code == 422, (path, body, answer.text)
        assert answer.json()["errors"][0]["field"] == field, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


async def test_only_the_service_key_opens_it(api: Api) -> None:
    async with api.client("not the service key") as client:
        assert (await client.post("/api/work/open-lease", json={"worker": "x"})).status_code == 401
        assert (await client.post("/api/work/claim", json={"lease": 1, "queue": "default"})).status_code == 401
    async with httpx.AsyncClient(base_url=api.address) as client:
        for path in ("open-lease", "claim", "complete", "release-unknown"):
            assert (await client.post(f"/api/work/{path}", json={})).status_code == 401


async def test_a_lost_lease_is_a_normal_answer(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any]
) -> None:
    lease = await open_lease(client)
    job = await enqueue(api, "work")
    [claimed] = await claim(client, lease)
    watch.execute("select penstock.expire_lease(%s)", [lease])
    beat = await ask(client, "heartbeat", lease=lease, wait=20, queues=["default"])
    assert beat == {"alive": False, "cancelling": [], "seconds": None, "leads": False, "wake": False}
    assert (await ask(client, "heartbeat", lease=lease))["alive"] is False
    for wait in (0, 20):
        lost = await client.post("/api/work/claim", json={"lease": lease, "queue": "default", "wait": wait})
        assert (lost.status_code, lost.json()["status"]) == (410, 410)
    gone = await client.post("/api/work/wait-for-work", json={"lease": lease, "queues": ["default"]})
    assert gone.status_code == 410
    assert await ask(client, "fail", lease=lease, jobs=[{**held(claimed), "error": {"error": "late"}}]) == []
    steps = await client.post("/api/work/recall-steps", json={"lease": lease, "id": str(job.id), "claims": 1})
    assert steps.status_code == 410
    assert await ask(client, "close-lease", lease=lease) == 0
    await until_waiting(watch)


async def test_a_waiting_claim_gets_the_job_that_comes(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any]
) -> None:
    lease = await open_lease(client)
    waiting = asyncio.create_task(claim(client, lease, wait=30))
    await until_waiting(watch, lease)
    began = time.monotonic()
    job = await enqueue(api, "work")
    assert [each["id"] for each in await soon(waiting)] == [str(job.id)]
    assert time.monotonic() - began < 10
    await until_waiting(watch)


async def test_a_waiting_claim_ends_with_nothing_when_its_time_is_over(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_poll, "_EXTEND", 1 / 300)
    lease = await open_lease(client)
    until_when = "select expires_at from penstock.leases_now where id = %s"
    [[before]] = watch.execute(until_when, [lease]).fetchall()
    assert await claim(client, lease, wait=0.5) == []  # and keeps the lease meanwhile
    [[after]] = watch.execute(until_when, [lease]).fetchall()
    assert (after - before).total_seconds() > 0.2
    await until_waiting(watch)


async def test_a_claim_may_name_kinds(api: Api, client: httpx.AsyncClient) -> None:
    await enqueue(api, "one")
    two = await enqueue(api, "two")
    lease = await open_lease(client)
    assert [job["id"] for job in await claim(client, lease, kinds=["two"])] == [str(two.id)]


async def vanish(task: "asyncio.Task[Any]") -> None:
    """Closes the connection that the request waits on."""
    task.cancel()
    await asyncio.wait([task])


async def test_a_client_that_vanished_is_given_no_job(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, other = await open_lease(client), await open_lease(client)
    waiting = asyncio.create_task(claim(client, lease, wait=30))
    await until_waiting(watch, lease)
    await vanish(waiting)
    await until_waiting(watch)
    there = asyncio.create_task(claim(client, other, queue="other", wait=30))
    await until_waiting(watch, other)
    looks = Looks(api.app.engine, monkeypatch)
    job = await enqueue(api, "work")
    # the server is told of jobs in the order of their commits: of this one after the other
    await enqueue_job(api, NewJob(kind="work", queue="other"))
    assert len(await soon(there)) == 1
    assert looks.begun["default"] == 0
    record = await job.arefresh()
    assert (record.state, record.attempt) == (JobState.READY, 0)
    assert api.workers.waiting == 0


async def test_what_a_vanished_client_claimed_goes_back_at_no_cost(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await open_lease(client)
    claiming, go = asyncio.Event(), asyncio.Event()
    arun = api.app.engine.arun

    async def slow_claims(call: Any) -> Any:
        answer = await arun(call)
        if isinstance(call, commands.Claim) and answer:
            claiming.set()
            await go.wait()
        return answer

    monkeypatch.setattr(api.app.engine, "arun", slow_claims)
    for wait in (0, 30):
        claiming.clear()
        go.clear()
        if wait == 0:
            job = await enqueue(api, "work")
        waiting = asyncio.create_task(claim(client, lease, wait=wait))
        if wait:
            await until_waiting(watch, lease)
            job = await enqueue(api, "work")
        await soon(claiming.wait())
        await vanish(waiting)
        # whoever is answered asked after the other had left, and the server knows by then
        assert (await client.get("/healthz")).status_code == 200
        go.set()

        async def given_back(id: Any = job.id) -> bool:
            record = await api.app.handle(id).arefresh()
            return record.state is JobState.READY and record.attempt == 0

        await until(given_back)
        await api.app.handle(job.id).acancel()


async def test_work_that_a_vanished_worker_was_told_of_is_told_to_another(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked to be woken, and is not there when it is: between two of its requests it died."""
    monkeypatch.setattr(waiting, "OUT_OF_SIGHT", 0.2)
    dead, alive = await open_lease(client), await open_lease(client)
    assert await ask(client, "wait-for-work", lease=dead, queues=["default"]) is None
    job = await enqueue(api, "work")  # tells the dead one, for there is no other
    beat = asyncio.create_task(ask(client, "heartbeat", lease=alive, wait=30, queues=["default"]), name="alive")
    await until_waiting(watch, alive)
    assert (await soon(beat))["wake"] is True
    assert [each["id"] for each in await claim(client, alive)] == [str(job.id)]


async def test_a_waiting_heartbeat_tells_of_work_and_of_cancellations(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any]
) -> None:
    lease = await open_lease(client)

    def beat(**body: Any) -> "asyncio.Task[Any]":
        return asyncio.create_task(ask(client, "heartbeat", lease=lease, wait=30, **body))

    waiting = beat(queues=["default"])
    await until_waiting(watch, lease)
    job = await enqueue(api, "work")
    told = {"alive": True, "cancelling": [], "seconds": 30, "leads": False, "wake": True}
    assert await soon(waiting) == told
    [claimed] = await claim(client, lease)
    waiting = beat()
    await until_polling(api)
    await job.acancel()
    assert (await soon(waiting))["cancelling"] == [claimed["id"]]
    # once is enough, for those who remember; a second job is news again
    short = await ask(client, "heartbeat", lease=lease, wait=0.2, told=[claimed["id"]])
    assert short["cancelling"] == [claimed["id"]]
    assert await ask(client, "stop-waiting", lease=lease, queues=["default"]) is None
    other = await enqueue(api, "work")
    await claim(client, lease)
    waiting = beat(told=[claimed["id"]])
    await until_polling(api)
    await other.acancel()
    assert set((await soon(waiting))["cancelling"]) == {claimed["id"], str(other.id)}


async def test_work_that_comes_while_a_heartbeat_looks_for_some_is_told(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await open_lease(client)
    has_work = api.workers.has_work

    async def come_too_late_for_the_look(queues: Any) -> bool:
        found = await has_work(queues)
        assert not found
        [poll] = api.workers.everybody()
        await enqueue(api, "work")

        await until(lambda: poll.woken)
        return found

    monkeypatch.setattr(api.workers, "has_work", come_too_late_for_the_look)
    assert (await soon(ask(client, "heartbeat", lease=lease, wait=30, queues=["default"])))["wake"] is True


async def test_a_cancellation_that_comes_while_a_heartbeat_looks_for_others_is_told(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, other = await enqueue(api, "work"), await enqueue(api, "work", number=2)
    lease = await open_lease(client)
    claimed = {job["id"]: job for job in await claim(client, lease)}
    arun, looked = api.app.engine.arun, asyncio.Event()

    async def come_too_late_for_the_second_look(call: Any) -> Any:
        if not isinstance(call, commands.Heartbeat):
            return await arun(call)
        if not looked.is_set():
            answer = await arun(call)
            looked.set()
            return answer
        monkeypatch.undo()
        [poll] = api.workers.everybody()
        assert await ask(client, "complete", lease=lease, jobs=[held(claimed[str(ended.id)])]) == []
        answer = await arun(call)
        assert answer.cancelling == []
        await other.acancel()

        await until(lambda: other.id in poll.cancelled)
        return answer

    monkeypatch.setattr(api.app.engine, "arun", come_too_late_for_the_second_look)
    waiting = asyncio.create_task(ask(client, "heartbeat", lease=lease, wait=30))
    await soon(looked.wait())
    await ended.acancel()
    assert (await soon(waiting))["cancelling"] == [str(other.id)]


async def test_steps_and_outputs_are_for_the_holder_of_the_job(api: Api, client: httpx.AsyncClient) -> None:
    job = await enqueue(api, "work")
    lease = await open_lease(client)
    await claim(client, lease)
    mine = {"lease": lease, "id": str(job.id), "claims": 1}
    stale = {**mine, "claims": 2}
    assert await ask(client, "remember-step", **mine, name="load/it", output={"rows": 3}) is True
    assert await ask(client, "remember-step", **stale, name="load/it", output=None) is False
    headers = {"content-type": "application/json"}
    for depth in (600, 5_000, 400_000):
        deep = b"[" * depth + b"]" * depth
        for path, whole in (
            ("remember-step", b'{"lease": %d, "id": "%s", "claims": 7, "name": "a", "output": %s}'),
            ("complete", b'{"lease": %d, "jobs": [{"id": "%s", "claims": 7, "output": %s}]}'),
        ):
            body = whole % (lease, str(job.id).encode(), deep)
            answer = await client.post(f"/api/work/{path}", content=body, headers=headers)
            assert answer.status_code < 500, answer.text
    await ask(client, "remember-step", **mine, name="a", output=1)
    steps = await ask(client, "recall-steps", **mine)
    told = [(step["name"], step["output"], step["kind"], step["waits"]) for step in steps]
    assert told == [("load/it", {"rows": 3}, "step", False), ("a", 1, "step", False)]
    assert await ask(client, "outputs", **mine) == []
    for what in ("recall-steps", "outputs"):
        assert (await client.post(f"/api/work/{what}", json=stale)).status_code == 410
        assert (await client.post(f"/api/work/{what}", json={"lease": lease})).status_code == 422


async def test_a_wait_that_is_half_said_is_refused_and_spoils_no_list(api: Api, client: httpx.AsyncClient) -> None:
    job = await enqueue(api, "work")
    lease = await open_lease(client)
    await claim(client, lease)
    mine = {"lease": lease, "id": str(job.id), "claims": 1}
    called = [str(new_job_id()), str(new_job_id())]
    calls = [{"id": each, "kind": "work", "queue": "later"} for each in called]
    approval = {"event": "penstock.approval", "key": f"{job.id} {uuid4()}", "about": {"question": "Go?", "by": "owner"}}
    for kind, said, field in (
        ("sleep", {}, "seconds"),
        ("event", {}, "event"),
        ("event", {"event": "penstock.approval"}, "event"),
        ("approval", {}, "event"),
        ("approval", approval | {"event": "paid"}, "event"),
        ("approval", approval | {"key": "7"}, "key"),
        ("approval", approval | {"about": {"by": "owner"}}, "about"),
        ("approval", approval | {"about": {"question": "Go?", "by": "anybody"}}, "about"),
        ("approval", approval | {"about": "Go?"}, "about"),
        ("call", {}, "ids"),
        ("call", {"ids": []}, "ids"),
        ("call", {"ids": called}, "ids"),
        ("call", {"ids": called[::-1], "calls": calls}, "ids"),
        ("call", {"ids": called[:1], "calls": calls}, "ids"),
    ):
        step = {"name": "wait", "kind": kind, **said}
        body = {**mine, "calls": step.pop("calls", None), "step": step}
        refused = await client.post("/api/work/suspend", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field), (kind, said, refused.text)
    assert await ask(client, "recall-steps", **mine) == []
    assert (await client.get("/api/approvals")).json()["approvals"] == []
    step = {"name": "wait", "kind": "call", "ids": called}
    assert (await ask(client, "suspend", **mine, step=step, calls=calls))["state"] == "blocked"


async def test_jobs_of_a_lost_answer_are_given_back(api: Api, client: httpx.AsyncClient) -> None:
    jobs = [await enqueue(api, "work", number=number) for number in range(3)]
    lease = await open_lease(client)
    known, *_ = await claim(client, lease)
    released = await ask(client, "release-unknown", lease=lease, known=[known["id"]])
    assert set(released) == {str(job.id) for job in jobs} - {known["id"]}


@pytest.mark.parametrize(("dead", "attempt"), [(False, 0), (True, 1)])
async def test_a_lease_that_ends_gives_back_its_jobs(
    api: Api, client: httpx.AsyncClient, dead: bool, attempt: int
) -> None:
    job = await enqueue(api, "work")
    lease = await open_lease(client)
    await claim(client, lease)
    assert await ask(client, "expire-lease" if dead else "close-lease", lease=lease) == 1
    assert (await job.arefresh()).attempt == attempt


async def test_a_wake_up_that_comes_while_others_are_passed_on_is_passed_on_too(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await open_lease(client)
    waiting = asyncio.create_task(claim(client, lease, wait=30, limit=1))
    await until_waiting(watch, lease)
    arun, passed_on = api.app.engine.arun, list[Any]()

    async def arun_slowly(call: Any) -> Any:
        if isinstance(call, commands.Wake):
            passed_on.append(call)
            if len(passed_on) == 1:
                api.workers.wake(Lease(lease))  # it was sent while the worker still waited
        return await arun(call)

    monkeypatch.setattr(api.app.engine, "arun", arun_slowly)
    for poll in api.workers.everybody():
        poll.wakes += 1  # told of a job that another has taken
    await enqueue(api, "work")
    [_] = await soon(waiting)

    await until(lambda: len(passed_on) == 2)


async def test_one_connection_listens_for_all(
    api: Api, client: httpx.AsyncClient, watch: psycopg.Connection[Any]
) -> None:
    leases = [await open_lease(client) for _ in range(20)]
    waiting = [asyncio.create_task(claim(client, lease, wait=30, limit=1)) for lease in leases]
    await until_waiting(watch, *leases)
    assert watch.execute("select count(distinct backend) from penstock.waiting").fetchone() == (1,)
    jobs = [await enqueue(api, "work", number=number) for number in range(20)]
    got = [job["id"] for answer in await soon(asyncio.gather(*waiting)) for job in answer]
    assert sorted(got) == sorted(str(job.id) for job in jobs)
