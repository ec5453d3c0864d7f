"""Many jobs in one call: all or none, in their order, by COPY or by JSON."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import Handler, InvalidInput, NewJob, Penstock
from penstock.engine import commands
from penstock.engine.postgres.enqueue import COPY_FROM, enqueue
from penstock.engine.postgres.statement import Statement, first
from penstock.json import loads
from tests.app.conftest import CountJobs
from tests.app.worker import Worker
from tests.values.json_values import json_values, texts

Send = Handler[..., None]


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    def send(to: object, body: object = None) -> None: ...

    return send


def test_ten_thousand_jobs_go_in_one_call_and_come_out_in_their_order(
    app: Penstock, send: Send, count_jobs: CountJobs
) -> None:
    handles = send.enqueue_many({"to": n} for n in range(10_000))
    assert (len(handles), count_jobs()) == (10_000, 10_000)
    assert all(handle.created for handle in handles[:10])
    assert handles[-1].refresh().args == {"to": 9_999}
    worker = Worker(app)
    claimed = [job for _ in range(10) for job in worker.claim(1_000)]
    assert [loads(job.args)["to"] for job in claimed] == list(range(10_000))
    assert [job.id for job in claimed] == [handle.id for handle in handles]


async def test_the_same_in_async_code(send: Send, count_jobs: CountJobs) -> None:
    handles = await send.aenqueue_many({"to": n} for n in range(1_000))
    assert (len(handles), count_jobs()) == (1_000, 1_000)
    assert (await handles[999].arefresh()).args == {"to": 999}


@pytest.mark.parametrize("jobs", [0, 1, 2, COPY_FROM - 1, COPY_FROM])
def test_however_few_they_are_they_come_in_their_order(app: Penstock, send: Send, jobs: int) -> None:
    handles = send.enqueue_many([{"to": n} for n in range(jobs)])
    assert [handle.refresh().args["to"] for handle in handles] == list(range(jobs))
    assert [job.id for job in Worker(app).run_all()] == [handle.id for handle in handles]


def test_single_calls_and_bulks_keep_their_order_among_each_other(app: Penstock, send: Send) -> None:
    send.enqueue(0)
    send.enqueue_many([{"to": n} for n in range(1, 31)])
    send.enqueue(31)
    send.using(unique=True).enqueue_many([{"to": n} for n in range(32, 62)])
    send.using(priority=1).enqueue("first")
    assert [loads(job.args)["to"] for job in Worker(app).run_all()] == ["first", *range(62)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(texts, json_values, max_size=3), texts)
def test_any_text_survives_copy_and_json_alike(app: Penstock, send: Send, body: object, to: str) -> None:
    call = {"to": to, "body": body}
    copied = send.enqueue_many([call] * COPY_FROM)[-1]
    by_json = send.using(unique="one").enqueue(**call)
    alone = send.enqueue(**call)
    stored = [handle.refresh().args for handle in (copied, by_json, alone)]
    # jsonb keeps numbers as decimals, so a large float comes back as the whole number it is
    assert stored[0] == stored[1] == stored[2]
    assert stored[0] == loads(app.database.run(_through_jsonb(call)))
    assert stored[0]["to"] == to
    by_json.cancel()


def _through_jsonb(value: object) -> Statement[str]:
    return Statement("select %s::text::jsonb::text", [msgspec.json.encode(value).decode()], first)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts.filter(bool), texts.filter(bool))
def test_any_text_survives_as_owner_queue_and_key(app: Penstock, send: Send, one: str, other: str) -> None:
    placed = send.using(queue=one, owner=other, org=one, limit_key=other)
    for handle in (placed.enqueue_many([{"to": 1}] * COPY_FROM)[0], placed.enqueue(1)):
        job = handle.refresh()
        assert (job.queue, job.owner, job.org, job.limit_key) == (one, other, one, other)


@pytest.mark.parametrize(
    "special", ["\\N", "\\.", "\t", "a\nb", "\r\n", "'\"", "\\\\t", "\x7f\x01", "\u2028🎈", "%s", "$1"]
)
def test_what_copy_and_sql_treat_specially_is_text_like_any(app: Penstock, send: Send, special: str) -> None:
    placed = send.using(queue=special, owner=special)
    many, one = placed.enqueue_many([{"to": special}] * COPY_FROM)[3], placed.enqueue(special)
    for job in (many.refresh(), one.refresh()):
        assert (job.args, job.queue, job.owner) == ({"to": special}, special, special)


def test_prepared_jobs_of_many_kinds_and_queues_go_together(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job(queue="mail", max_attempts=3, timeout=9)
    def send(to: str) -> None: ...

    @app.job(queue="pdf", priority=5)
    def export(page: int) -> None: ...

    soon = datetime.now(UTC) + timedelta(hours=1)
    jobs: list[NewJob] = []
    for n in range(50):
        jobs += [send.prepare(str(n)), export.prepare(n), export.using(run_at=soon, owner="ada").prepare(n)]
    handles = app.enqueue_many(jobs)
    assert count_jobs() == 150
    assert [handle.id for handle in handles] == [job.id for job in jobs]
    mail, pdf, later = (handle.refresh() for handle in handles[-3:])
    assert (mail.kind, mail.queue, mail.max_attempts, mail.options) == ("send", "mail", 3, {"timeout": 9})
    assert (pdf.kind, pdf.priority, pdf.state, pdf.args) == ("export", 5, "ready", {"page": 49})
    assert (later.state, later.run_at, later.owner) == ("scheduled", soon, "ada")
    assert [loads(job.args)["to"] for job in Worker(app, "mail").run_all()] == [str(n) for n in range(50)]


def test_a_fair_queue_takes_turns_among_owners_whose_jobs_came_by_copy(app: Penstock, send: Send) -> None:
    app.queues.set("default", fair_by="owner")
    for owner in ("many", "many", "few"):
        send.using(owner=owner).enqueue_many([{"to": n} for n in range(50)])
    send.using(owner="one").enqueue("alone")
    served = Worker(app).claim(9)
    assert Counter(job.owner for job in served) == {"many": 4, "few": 4, "one": 1}


def test_jobs_of_many_owners_are_one_statement_and_not_some_for_each(app: Penstock, count_jobs: CountJobs) -> None:
    single = [NewJob(kind="send", owner=f"owner {n}") for n in range(50)]
    many = [NewJob(kind="send", owner="ada") for _ in range(COPY_FROM)]
    mixed = [*single[:25], *many, *single[25:]]
    script = enqueue(mixed)
    assert isinstance(next(script), commands.PrepareCopy)
    told = commands.BeforeCopy(0, datetime.now(UTC), None, may_copy=True)
    asked = [script.send(told), next(script), next(script)]
    assert [type(each).__name__ for each in asked] == ["Copy", "Wake", "EnqueueJobs"]
    assert asked[-1] == commands.EnqueueJobs(single), "in their order"
    enqueued = app.engine.enqueue(mixed)
    assert [each.id for each in enqueued] == [job.id for job in mixed]
    assert count_jobs() == len(mixed)


def test_a_bulk_that_fails_half_way_writes_nothing(app: Penstock, send: Send, count_jobs: CountJobs) -> None:
    existing = app.enqueue(send.prepare("taken"))
    jobs = [send.prepare(n) for n in range(3_000)]
    object.__setattr__(jobs[-1], "id", existing.id)
    for keys in (None, "unique"):
        work = [send.using(unique=f"{keys}{n}").prepare(n) for n in range(30)] if keys else []
        with pytest.raises(ValueError, match=r"^id: a job with this id exists"):
            app.enqueue_many([*work, *jobs])
        assert count_jobs() == 1


def test_jobs_that_it_prepared_are_enqueued_too(app: Penstock) -> None:
    @app.job(unique=True)
    def send(to: str) -> None: ...

    @app.job
    def other(to: str) -> None: ...

    handles = send.enqueue_many(send.prepare(f"{n}@example.com") for n in range(30))
    assert [handle.refresh().args["to"] for handle in handles] == [f"{n}@example.com" for n in range(30)]
    for wrong in ([other.prepare("x")], [send.prepare("x"), {"to": "y"}]):
        with pytest.raises(InvalidInput, match="calls: takes either mappings of arguments or"):
            send.enqueue_many(wrong)  # type: ignore[arg-type]
    assert len(list(app.jobs.each())) == 30
