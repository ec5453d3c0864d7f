"""`app.jobs`: pages, filters, and changing the course of many."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock import Flow, Handler, InvalidInput, JobState, Penstock
from tests.app.conftest import CountJobs
from tests.app.worker import Worker

Send = Handler[..., None]
PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    def send(to: object) -> None: ...

    return send


def test_pages_are_newest_first_and_neither_repeat_nor_skip_while_others_come_in(app: Penstock, send: Send) -> None:
    handles = send.enqueue_many([{"to": n} for n in range(25)])
    page = app.jobs.list(limit=10)
    seen = [job.id for job in page.jobs]
    while page.next:
        send.enqueue("newer")
        page = app.jobs.list(limit=10, before=page.next)
        seen += [job.id for job in page.jobs]
    assert seen == [handle.id for handle in handles][::-1]


@pytest.mark.parametrize(("limit", "more"), [(9, True), (10, False), (11, False)])
def test_a_page_knows_whether_there_is_another(app: Penstock, send: Send, limit: int, more: bool) -> None:
    send.enqueue_many([{"to": n} for n in range(10)])
    page = app.jobs.list(limit=limit)
    assert len(page.jobs) == min(limit, 10)
    assert (page.next is not None) is more


def test_each_goes_through_all_pages(app: Penstock, send: Send) -> None:
    send.using(queue="other").enqueue("not this")
    handles = send.enqueue_many([{"to": n} for n in range(1_050)])
    assert [job.id for job in app.jobs.each(queue="default")] == [handle.id for handle in handles][::-1]


async def test_looking_has_async_twins(app: Penstock, send: Send) -> None:
    handles = await send.aenqueue_many([{"to": n} for n in range(30)])
    page = await app.jobs.alist(limit=20)
    rest = await app.jobs.alist(limit=20, before=page.next)
    assert [job.id for job in (*page.jobs, *rest.jobs)] == [handle.id for handle in handles][::-1]
    found = await app.jobs.asearch(limit=20, args={"to": 7})
    assert [job.id for job in found.jobs] == [handles[7].id]
    assert [job.args["to"] async for job in app.jobs.aeach(args={"to": 7})] == [7]
    assert await app.jobs.aget(handles[0].id) is not None
    assert await app.jobs.aget(uuid4()) is None
    assert await app.jobs.acancel(handles[0].id, handles[1].id) == [handles[0].id, handles[1].id]
    assert await app.jobs.aretry(handles[0].id) == [handles[0].id]
    assert await app.jobs.aretry_where(state="cancelled") == [handles[1].id]
    assert await app.jobs.apurge_where(state="cancelled") == 0


@pytest.fixture
def people(app: Penstock, send: Send) -> dict[str, UUID]:
    """One job for each name, each different in one way."""
    worker = Worker(app)
    done, failed = send.enqueue("done"), send.enqueue("failed")
    worker.complete(worker.claim_one())
    worker.fail(worker.claim_one())
    flow = Flow(then=send.prepare("flow"))
    flow.add(send.prepare("child"))
    root = app.enqueue(flow)
    [child] = app.jobs.list(parent=root.id).jobs
    app.job(kind="export")(lambda to: None)
    return {
        "done": done.id,
        "failed": failed.id,
        "flow": root.id,
        "child": child.id,
        "later": send.using(delay=60).enqueue("later").id,
        "mail": send.using(queue="mail").enqueue("mail").id,
        "owner": send.using(owner="ada").enqueue("owner").id,
        "org": send.using(org="acme").enqueue("org").id,
        "unique": send.using(unique="k").enqueue({"deep": {"er": [1, 2]}}).id,
        "kind": app.enqueue(app.prepare("export", {"to": "kind"})).id,
    }


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"queue": "mail"}, "mail"),
        ({"queue": ["mail", "none"]}, "mail"),
        ({"queue": []}, ""),
        ({"kind": "export"}, "kind"),
        ({"kind": ["export", "import"]}, "kind"),
        ({"state": "failed"}, "failed"),
        ({"state": JobState.SUCCEEDED}, "done"),
        ({"state": ["failed", JobState.SCHEDULED]}, "failed later"),
        ({"state": ["succeeded", "blocked"]}, "done flow"),
        ({"owner": "ada"}, "owner"),
        ({"org": ["acme"]}, "org"),
        ({"unique_key": "k"}, "unique"),
        ({"args": {"to": "later"}}, "later"),
        ({"args": {"to": {"deep": {"er": [2]}}}}, "unique"),
        ({"queue": "default", "state": "ready", "kind": "send", "owner": "ada"}, "owner"),
        ({"owner": "ada", "org": "acme"}, ""),
        ({"created_after": FUTURE}, ""),
        ({"created_before": PAST}, ""),
        ({"created_after": PAST, "state": "scheduled"}, "later"),
    ],
    ids=str,
)
def test_a_filter_finds_what_fits_all_of_it(
    app: Penstock, people: dict[str, UUID], filter: dict[str, Any], found: str
) -> None:
    wanted = {people[name] for name in found.split()}
    assert {job.id for job in app.jobs.list(**filter).jobs} == wanted
    assert {job.id for job in app.jobs.search(**filter).jobs} == wanted


def test_filters_by_id_and_by_parent(app: Penstock, people: dict[str, UUID]) -> None:
    wanted = {people["done"], people["mail"]}
    assert {job.id for job in app.jobs.list(ids=[*wanted, uuid4()]).jobs} == wanted
    assert [job.id for job in app.jobs.list(parent=people["flow"]).jobs] == [people["child"]]
    assert app.jobs.list(parent=[uuid4()]).jobs == []
    assert len(app.jobs.list().jobs) == len(people)


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"quue": "mail"}, "quue: no such filter of jobs"),
        (
            {"state": "done"},
            "state: 'done' is none of blocked, scheduled, ready, running, succeeded, failed, cancelled",
        ),
        ({"state": ["failed", "done"]}, "state: 'done' is none of"),
        ({"created_after": datetime(2030, 1, 1)}, "created_after: must be a datetime with a time zone"),
        ({"created_before": "yesterday"}, "created_before: must be a datetime with a time zone"),
        ({"parent": "x"}, "parent: must be a UUID, not 'x'"),
        ({"ids": ["x"]}, "ids: must be a UUID, not 'x'"),
        ({"queue": "a\0"}, "queue: must be text without NUL"),
        ({"error": ""}, "error: must be one text that is not empty"),
        ({"id": ["0"]}, "id: must be one text that is not empty"),
        ({"owner": 5}, "owner: must be text without NUL, not 5"),
        ({"limit": 0}, "limit: must be between 1 and 1000, not 0"),
        ({"limit": 1001}, "limit: must be between 1 and 1000, not 1001"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_by_name(app: Penstock, filter: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.jobs.list(**filter)


def test_retry_where_brings_back_what_failed_unless_told_otherwise(app: Penstock, send: Send) -> None:
    worker = Worker(app, "mail")
    ours = [send.using(queue="mail", owner="ada").enqueue(n) for n in range(3)]
    theirs = send.using(queue="mail", owner="grace").enqueue("theirs")
    worker.fail(*worker.claim(3))
    theirs.cancel()
    assert app.jobs.retry_where(owner="grace") == []
    assert app.jobs.retry_where(queue="mail", owner="ada", to_queue="slow") == [job.id for job in ours]
    assert {job.refresh().queue for job in ours} == {"slow"}
    assert app.jobs.retry_where(state="cancelled") == [theirs.id]


def test_purge_where_deletes_what_failed_unless_told_otherwise(
    app: Penstock, send: Send, count_jobs: CountJobs
) -> None:
    worker = Worker(app)
    handles = [send.using(org=org).enqueue(org) for org in ("acme", "acme", "other")]
    done, live = send.enqueue("done"), send.using(delay=60).enqueue("live")
    worker.fail(*worker.claim(3))
    worker.complete(worker.claim_one())
    assert app.jobs.purge_where(org="acme") == 2
    assert [app.jobs.get(handle.id) is None for handle in handles] == [True, True, False]
    assert app.jobs.purge_where(state=["succeeded", "scheduled"]) == 1
    assert app.jobs.get(done.id) is None
    assert app.jobs.get(live.id) is not None
    assert count_jobs() == 2


def test_cancel_and_retry_tell_which_ids_they_reached(app: Penstock, send: Send) -> None:
    one, two = send.enqueue(1), send.enqueue(2)
    assert app.jobs.cancel(one.id, uuid4(), reason="why") == [one.id]
    assert app.jobs.cancel(one.id, two.id) == [two.id]
    assert sorted(app.jobs.retry(one.id, two.id, uuid4())) == [one.id, two.id]
    assert app.jobs.retry() == app.jobs.cancel() == []
