"""What operators ask: tick, kinds, scale, usage, health and metrics."""

import asyncio

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from prometheus_client.parser import text_string_to_metric_families

from penstock import JobState, NewJob, Penstock
from penstock.engine import commands
from penstock.engine.postgres.transaction import PostgresTransaction
from penstock.server.metrics import SCRAPED, Scraped
from penstock.testing import adrain
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    def work(n: int) -> int:
        """Does some work."""
        if n < 0:
            raise ValueError(n)
        return n

    @app.job(queue="slow")
    def inside(when: str | None = None) -> None: ...

    return app


async def test_a_tick_runs_what_is_ready_and_reports_each(api: Api, app: Penstock) -> None:
    good = [await api.user().start("work", n=n) for n in range(2)]
    bad = await api.user().start("work", n=-1)
    answer = await api.service.post("/api/jobs/tick", {"limit": 10, "budget": 20})
    assert answer.status_code == 200
    body = answer.json()
    assert (body.keys(), body["ok"], body["processed"]) == ({"ok", "processed", "results"}, True, 3)
    results = {each["id"]: each for each in body["results"]}
    assert results.keys() == {*good, bad}
    for id in good:
        assert (results[id]["kind"], results[id]["state"], results[id]["error"]) == ("work", "succeeded", None)
    assert (results[bad]["state"], results[bad]["attempt"]) == ("scheduled", 1)
    assert results[bad]["error"]


async def test_a_job_that_failed_for_good_says_so(api: Api, app: Penstock) -> None:
    await app.engine.aenqueue([NewJob(kind="work", args=b'{"n": -1}', max_attempts=1)], None)
    body = (await api.service.post("/api/jobs/tick")).json()
    assert body["processed"] == 1
    [result] = body["results"]
    assert (result["state"], result["error"]) == ("failed", "-1")


async def test_a_tick_with_nothing_to_do(api: Api) -> None:
    body = (await api.service.post("/api/jobs/tick")).json()
    assert (body["ok"], body["processed"], body["results"]) == (True, 0, [])


async def test_a_tick_takes_no_more_than_it_is_allowed(api: Api) -> None:
    for n in range(3):
        await api.user().start("work", n=n)
    assert (await api.service.post("/api/jobs/tick", {"limit": 2})).json()["processed"] == 2
    assert (await api.service.post("/api/jobs/tick", {"queues": ["slow"]})).json()["processed"] == 0
    for body, field in (({"limit": 0}, "limit"), ({"budget": -1}, "budget"), ({"speed": 1}, "speed")):
        assert (await api.service.post("/api/jobs/tick", body)).json()["errors"][0]["field"] == field


async def test_a_tick_runs_as_many_at_once_as_the_queue_is_for(api: Api, app: Penstock) -> None:
    """However many it may run in all; and those that came in vain have not had an attempt."""
    running, peak, go_on = 0, 0, asyncio.Event()

    @app.job(queue="audio", max_attempts=1)
    async def encode() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        try:
            await go_on.wait()
            await asyncio.sleep(0)
        finally:
            running -= 1

    app.set_slots("audio", 2)
    await app.engine.aenqueue([encode.prepare() for _ in range(6)], None)
    body = (await api.service.post("/api/jobs/tick", {"limit": 6, "budget": 1})).json()
    assert (peak, [each["state"] for each in body["results"]]) == (2, ["failed", "failed"])
    assert [job.attempt for job in (await app.jobs.alist(queue="audio", state=JobState.READY)).jobs] == [0] * 4
    go_on.set()
    body = (await api.service.post("/api/jobs/tick", {"limit": 6, "queues": ["audio"]})).json()
    assert (peak, [each["state"] for each in body["results"]]) == (2, ["succeeded"] * 4)


async def test_the_service_sees_tracebacks_and_users_a_safe_text(api: Api, app: Penstock, connect: Connect) -> None:
    id = await api.user().start("work", n=-1)
    connect().execute("update penstock.jobs set max_attempts = 1")
    await adrain(app)
    for_service = (await api.service.get(f"/api/jobs/{id}")).json()
    [error] = for_service["errors"]
    assert (error["attempt"], error["type"], error["error"]) == (1, "ValueError", "-1")
    assert "raise ValueError(n)" in error["traceback"]
    for_user = (await api.user().get(f"/api/jobs/{id}")).json()
    assert (for_user["error"], "errors" in for_user) == ("it failed by an internal error", False)
    assert (await api.service.get("/api/jobs")).json()["jobs"][0].get("errors") is None


async def test_jobs_that_no_worker_knows_are_shown_to_the_service_and_counted(app: Penstock, api: Api) -> None:
    id = await api.user().start("work", n=1)
    lease = await app.engine.arun(commands.OpenLease("of another version"))
    [job] = await app.engine.arun(commands.Claim(lease, "default", 1))
    await app.engine.arun(saying.park(lease, [job], ["this worker has no handler of kind 'work'"]))
    for path in (f"/api/jobs/{id}", "/api/jobs"):
        body = (await api.service.get(path)).json()
        assert (body.get("jobs") or [body])[0]["parked_reason"] == "this worker has no handler of kind 'work'"
        seen = (await api.user().get(path)).json()
        assert "parked_reason" not in (seen.get("jobs") or [seen])[0]
    assert 'penstock_parked_jobs{kind="work",queue="default"} 1.0' in (await api.service.get("/metrics")).text


@pytest.mark.parametrize("path", ["POST /api/jobs/tick", "GET /api/queues/default/scale", "GET /metrics"])
async def test_what_only_the_service_may(api: Api, path: str) -> None:
    method, where = path.split()
    assert (await api.nobody(method, where)).status_code == 401
    assert (await api.user()(method, where)).status_code == 403
    assert (await api.service(method, where)).status_code == 200


async def test_kinds_are_shown_with_the_schema_of_their_params(api: Api) -> None:
    [kind] = (await api.user().get("/api/kinds")).json()["kinds"]
    assert (kind["kind"], kind["description"]) == ("work", "Does some work.")
    assert kind["args"]["properties"] == {"n": {"type": "integer"}}
    assert kind["args"]["required"] == ["n"]
    everything = (await api.service.get("/api/kinds")).json()["kinds"]
    assert [each["kind"] for each in everything] == ["inside", "work"]


async def test_the_scale_of_a_queue_follows_its_backlog(api: Api, app: Penstock) -> None:
    idle = (await api.service.get("/api/queues/default/scale")).json()
    assert idle == {
        "queue": "default", "paused": False, "ready": 0, "running": 0, "workers": 0, "oldest_ready_seconds": None,
        "wanted_workers": 0,
    }  # fmt: skip
    for n in range(5):
        await api.user().start("work", n=n)
    await app.engine.arun(commands.OpenLease("one", queues=["default"]))
    await app.engine.arun(commands.OpenLease("other", queues=["slow"]))
    busy = (await api.service.get("/api/queues/default/scale?slots=2&most=10")).json()
    assert (busy["ready"], busy["workers"], busy["wanted_workers"]) == (5, 1, 3)
    assert busy["oldest_ready_seconds"] >= 0
    assert (await api.service.get("/api/queues/default/scale?slots=1&most=2")).json()["wanted_workers"] == 2
    assert (await api.service.get("/api/queues/default/scale?least=4")).json()["wanted_workers"] == 4
    await app.queues.aset("default", paused=True)
    paused = (await api.service.get("/api/queues/default/scale")).json()
    assert (paused["paused"], paused["wanted_workers"]) == (True, 0)


async def test_usage_is_shown_to_the_organisation_it_belongs_to(api: Api, app: Penstock) -> None:
    for org in ("acme", "zoo"):
        asked = {"kind": "work", "args": {"n": 1}, "org": org}
        assert (await api.user("alice", org=org).post("/api/jobs", asked)).status_code == 202
    await adrain(app)
    [row] = (await api.user("bob", org="acme").get("/api/usage")).json()["usage"]
    assert (row["org"], row["kind"], row["runs"], row["failures"]) == ("acme", "work", 1, 0)
    assert (await api.user("bob", org="acme").get("/api/usage?org=zoo")).status_code == 403
    assert (await api.user("nobody").get("/api/usage")).json()["usage"] == []
    assert {row["org"] for row in (await api.service.get("/api/usage")).json()["usage"]} == {"acme", "zoo"}
    assert {row["org"] for row in (await api.service.get("/api/usage?org=zoo")).json()["usage"]} == {"zoo"}


async def test_metrics_tell_of_queues_kinds_and_requests(api: Api, app: Penstock) -> None:
    await api.user().start("work", n=1)
    await adrain(app)
    await api.user().start("work", n=2)
    await api.nobody.get("/no/such/path")
    answer = await api.service.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["penstock_jobs", "default", "ready"] == 1
    assert samples["penstock_runs_total", "work"] == 1
    assert samples["penstock_http_requests_total", "POST", "/api/jobs", "202"] == 2
    assert samples["penstock_http_requests_total", "GET", "other", "404"] == 1
    assert samples["penstock_http_seconds_count", "/api/jobs"] == 2
    assert ("penstock_streams",) in samples


async def test_health_needs_no_database_and_readiness_does(api: Api, connect: Connect) -> None:
    assert (await api.nobody.get("/healthz")).json() == {"status": "ok"}
    assert (await api.nobody.get("/readyz")).json() == {"status": "ok"}
    async with Penstock("postgresql://nobody@127.0.0.1:1/none") as away:
        transport = ASGITransport(away.asgi(service_key=KEY), raise_app_exceptions=False)
        async with AsyncClient(transport=transport, base_url="http://test") as client:
            assert (await client.get("/healthz")).status_code == 200
            answer = await client.get("/readyz")
            assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
            assert "127.0.0.1" not in answer.text


async def test_the_api_can_be_mounted_into_another_application(app: Penstock) -> None:
    outer = FastAPI()
    outer.mount("/queue", app.asgi(service_key=KEY, jwt_secret=SECRET))
    async with AsyncClient(transport=ASGITransport(outer), base_url="http://test") as client:
        headers = {"Authorization": f"Bearer {KEY}"}
        answer = await client.post("/queue/api/jobs", json={"kind": "work", "args": {"n": 1}}, headers=headers)
        assert answer.status_code == 202
        status = await client.get(f"/queue/api/jobs/{answer.json()['id']}", headers=headers)
        assert status.json()["state"] == "ready"


async def test_an_unknown_path_and_a_wrong_method_are_problems_too(api: Api) -> None:
    for method, path, status in (("GET", "/nowhere", 404), ("PATCH", "/api/jobs", 405)):
        answer = await api.service(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


async def test_the_description_is_served_and_can_be_switched_off(api: Api, app: Penstock) -> None:
    assert (await api.nobody.get("/openapi.json")).json()["info"]["title"] == "Penstock"
    assert 'href="openapi.json"' in (await api.nobody.get("/docs")).text
    async with AsyncClient(transport=ASGITransport(app.asgi(docs=False)), base_url="http://test") as client:
        assert (await client.get("/openapi.json")).status_code == 404


async def test_pages_of_an_allowed_origin_may_ask_and_others_may_not(app: Penstock) -> None:
    asgi = app.asgi(service_key=KEY, cors_origins="https://shop.example.com, https://desk.example.com")
    async with AsyncClient(transport=ASGITransport(asgi), base_url="http://test") as client:
        asked = {"Origin": "https://desk.example.com", "Access-Control-Request-Method": "POST"}
        asked["Access-Control-Request-Headers"] = "authorization,idempotency-key"
        allowed = await client.options("/api/jobs", headers=asked)
        assert allowed.headers["access-control-allow-origin"] == "https://desk.example.com"
        answer = await client.get("/healthz", headers={"Origin": "https://desk.example.com"})
        assert "etag" in answer.headers["access-control-expose-headers"].lower()
        refused = await client.options("/api/jobs", headers=asked | {"Origin": "https://evil.example.com"})
        assert "access-control-allow-origin" not in refused.headers


async def test_without_the_setting_no_page_may_ask(api: Api) -> None:
    answer = await api.nobody.get("/healthz", headers={"Origin": "https://shop.example.com"})
    assert "access-control-allow-origin" not in answer.headers


async def test_the_service_finds_out_who_runs_a_job_and_users_do_not(api: Api, app: Penstock) -> None:
    id = await api.user().start("work", n=1)
    lease = await app.engine.arun(commands.OpenLease("busy", queues=["default"], host="jobs-1", pid=4711))
    await app.engine.arun(commands.Claim(lease, "default", 1))
    told = (await api.service.get(f"/api/jobs/{id}")).json()
    assert {name: told["worker"][name] for name in ("worker", "host", "pid")} == {
        "worker": "busy", "host": "jobs-1", "pid": 4711
    }  # fmt: skip
    assert "worker" not in (await api.user().get(f"/api/jobs/{id}")).json()
    [worker] = (await api.service.get("/api/workers")).json()["workers"]
    assert [job["id"] for job in worker["running"]] == [id]
    assert (await api.user().get("/api/workers")).status_code == 403


MANY = """
    insert into penstock.jobs (id, created_at, run_at, state, queue, kind, args)
    select penstock.uuid7(), now(), now(), 'ready', 'deep', 'x', '{}' from generate_series(1, 20000);
    insert into penstock.jobs (id, created_at, run_at, state, queue, kind, args, parked_since, parked_reason)
    select penstock.uuid7(), now(), now() + interval '1 hour', 'scheduled', 'deep', 'x', '{}', now(), 'unknown'
      from generate_series(1, 20000);
    insert into penstock.history (id, created_at, run_at, finished_at, turn, state, priority, attempt, max_attempts,
      claims, snoozes, awaited, queue, kind, args)
    select penstock.uuid7(), now(), now(), now(), 1, 'failed', 0, 5, 5, 5, 0, false, 'deep', 'x', '{}'
      from generate_series(1, 20000)"""


async def test_metrics_have_every_queue_and_what_was_given_up(api: Api, app: Penstock) -> None:
    app.queue("mail")
    before = (await api.service.get("/metrics")).text
    for queue in ("slow", "mail"):
        assert f'penstock_jobs{{queue="{queue}",state="ready"}} 0.0' in before
    assert 'penstock_dead_jobs{queue="default"} 0.0' in before
    assert "penstock_process_memory_bytes" in before
    await app.handler("work").using(max_attempts=1).aenqueue(n=-1)
    await adrain(app)
    assert 'penstock_dead_jobs{queue="default"} 1.0' in (await api.service.get("/metrics")).text
    ended = 'penstock_ended_total{outcome="%s",queue="default"} %s'
    await app.handler("work").aenqueue(n=1)
    for folded in (0, 1):  # as it was reported, and as it is kept
        await adrain(app)
        text = (await api.service.get("/metrics")).text
        assert ended % ("failed", "1.0") in text, folded
        assert ended % ("succeeded", "1.0") in text, folded
        assert 'penstock_runs_total{kind="work"} 2.0' in text, folded
        await app.engine.arun(commands.Maintain())


def test_a_scrape_touches_no_more_rows_however_many_there_are(connect: Connect, url: str) -> None:
    connection = connect()
    connection.execute(MANY)
    connection.execute("vacuum analyze penstock.jobs")
    with Penstock(url) as app, app.engine.transaction() as transaction:
        assert isinstance(transaction, PostgresTransaction)
        scraped = Scraped(*[transaction.run(command) for command in SCRAPED])
        [(touched,)] = transaction.connection.execute("""
            select sum(pg_stat_get_xact_tuples_returned(c.oid))
              from pg_class as c where relnamespace = 'penstock'::regnamespace""").fetchall()
    [queue] = scraped.queues
    assert (queue.ready, queue.exact) == (10_000, False)
    assert [(each.queue, each.jobs, each.exact) for each in scraped.dead] == [("deep", 1000, False)]
    assert sum(each.jobs for each in scraped.parked) == 10_000
    assert touched < 35_000, "of sixty thousand"
