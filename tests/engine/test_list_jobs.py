"""Looking for jobs: every filter, and pages that neither repeat nor skip."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.flow import batch
from penstock.job import NewJob
from tests.engine.hand import Hand


def found(hand: Hand, filter: dict[str, Any], limit: int = 50) -> list[UUID]:
    return [job.id for job in hand.run(commands.ListJobs(filter, None, limit))]


def searched(hand: Hand, filter: dict[str, Any], limit: int = 50) -> list[UUID]:
    return [job.id for job in hand.run(commands.SearchJobs(filter, None, limit)).jobs]


@pytest.fixture
def jobs(hand: Hand) -> dict[str, UUID]:
    """Some of every sort, live and finished."""
    ids = {
        "failed": hand.add("bad", max_attempts=1, owner="ada", org="acme"),
        "succeeded": hand.add("mail", args=b'{"to": "bob", "cc": ["eve"]}', owner="bob"),
        "unique": hand.add("mail", unique_key="k", delay=60),
        "queued": hand.add("mail", queue="slow", args=b'{"to": "bob"}'),
    }
    worker = hand.worker()
    for job in worker.claim(10):
        if job.kind == "bad":
            worker.fail(job)
        else:
            worker.complete(job)
    ids["flow"] = hand.start(batch([NewJob(kind="child")]))
    ids["child"] = hand.value("select id from penstock.jobs where kind = 'child'")
    return ids


@pytest.mark.parametrize(
    ("filter", "names"),
    [
        ({}, {"failed", "succeeded", "unique", "queued", "flow", "child"}),
        ({"state": "failed"}, {"failed"}),
        ({"state": ["failed", "succeeded"]}, {"failed", "succeeded"}),
        ({"state": ["ready", "succeeded"]}, {"queued", "child", "succeeded"}),
        ({"queue": "slow"}, {"queued"}),
        ({"queue": ["slow", "none"]}, {"queued"}),
        ({"kind": "mail"}, {"succeeded", "unique", "queued"}),
        ({"kind": ["bad", "child"]}, {"failed", "child"}),
        ({"owner": "ada"}, {"failed"}),
        ({"owner": ["ada", "bob"]}, {"failed", "succeeded"}),
        ({"org": "acme"}, {"failed"}),
        ({"unique_key": "k"}, {"unique"}),
        ({"args": {"to": "bob"}}, {"succeeded", "queued"}),
        ({"args": {"cc": ["eve"]}}, {"succeeded"}),
        ({"kind": "mail", "state": "ready"}, {"queued"}),
        ({"kind": "nothing"}, set()),
        ({"error": "BOOM"}, {"failed"}),
        ({"error": "bang"}, set()),
        ({"state": "scheduled"}, {"unique"}),
        ({"state": ["blocked", "running"]}, {"flow"}),
        ({"queue": "default", "state": "failed"}, {"failed"}),
    ],
)
def test_every_filter_finds_live_and_finished_jobs(
    hand: Hand, jobs: dict[str, UUID], filter: dict[str, Any], names: set[str]
) -> None:
    expected = sorted((jobs[name] for name in names), reverse=True)
    assert found(hand, filter) == expected
    page = hand.run(commands.SearchJobs(filter))
    assert ([job.id for job in page.jobs], page.next, page.searched_back_to) == (expected, None, None)


def test_jobs_are_found_by_parent_and_by_id(hand: Hand, jobs: dict[str, UUID]) -> None:
    assert found(hand, {"parent": jobs["flow"]}) == [jobs["child"]]
    assert found(hand, {"parent": [jobs["flow"], jobs["failed"]]}) == [jobs["child"]]
    assert set(found(hand, {"ids": [jobs["failed"], jobs["queued"]]})) == {jobs["failed"], jobs["queued"]}
    for beginning in (str(jobs["failed"]), str(jobs["failed"])[:20], jobs["failed"].hex[:-1].upper()):
        assert jobs["failed"] in found(hand, {"id": beginning})
        assert jobs["failed"] in searched(hand, {"id": beginning})
    assert searched(hand, {"id": str(jobs["failed"]), "kind": "bad"}) == [jobs["failed"]]
    assert searched(hand, {"id": str(jobs["failed"]), "kind": "mail"}) == []
    assert searched(hand, {"parent": jobs["flow"]}) == [jobs["child"]]
    with pytest.raises(InvalidInput, match="id: must be the beginning of an id, not 0%"):
        searched(hand, {"id": "0%"})


def test_jobs_are_found_by_the_time_they_were_enqueued(hand: Hand) -> None:
    early = hand.add()
    after = hand.job(early).created_at + timedelta(microseconds=1)
    late = hand.add()
    assert found(hand, {"created_after": after}) == [late]
    assert found(hand, {"created_before": after}) == [early]
    assert found(hand, {"created_after": after, "created_before": after}) == []
    assert searched(hand, {"created_after": after}) == [late]
    assert searched(hand, {"created_before": after}) == [early]


def test_an_unknown_filter_is_refused_by_name(hand: Hand) -> None:
    with pytest.raises(InvalidInput, match="colour: no such filter of jobs") as refused:
        found(hand, {"colour": "red"})
    assert refused.value.field == "colour"


def test_pages_neither_repeat_nor_skip_while_jobs_come_and_finish(hand: Hand) -> None:
    ids = [hand.add() for _ in range(25)]
    worker = hand.worker()
    pages: list[UUID] = []
    before = None
    while page := hand.run(commands.ListJobs({"kind": "work"}, before, 4)):
        pages += [job.id for job in page]
        before = page[-1].id
        hand.add()
        worker.complete(*worker.claim(3))
    assert pages == ids[::-1]


@pytest.mark.parametrize("filter", [{}, {"kind": "odd"}, {"error": "odd"}, {"state": "failed"}], ids=str)
def test_a_search_stops_after_so_many_rows_and_goes_on_from_there(hand: Hand, filter: dict[str, Any]) -> None:
    worker = hand.worker()
    for n in range(24):
        hand.add("odd" if n % 2 else "even", max_attempts=1)
        job = worker.claim_one()
        worker.fail(job, job.kind)
    wanted = [job.id for job in hand.run(commands.ListJobs(filter, None, 50))]
    assert len(wanted) in (12, 24)
    pages: list[UUID] = []
    looks, before, back_to = 0, None, None
    while True:
        ids, before, until = hand.rows(
            "select * from penstock.search_jobs(%s, %s, 5, p_most => 7, p_ms => 60000)", Jsonb(filter), before
        )[0]
        assert len(ids) <= 5
        pages += ids
        looks += 1
        if before is None:
            break
        assert back_to is None or until <= back_to
        back_to = until
    assert pages == wanted
    assert looks >= 4


def test_a_search_that_stops_among_the_errors_of_a_job_looks_at_all_of_them(hand: Hand) -> None:
    worker = hand.worker()
    ids = [hand.add(max_attempts=3) for _ in range(4)]
    for error in ("odd", "even", "even"):
        for job in worker.claim(4):
            worker.fail(job, error, retry_in=0)
        hand.run(commands.Promote())
    pages: list[UUID] = []
    before = None
    while True:
        page, before, _ = hand.rows(
            "select * from penstock.search_jobs(%s, %s, 5, p_most => 4, p_ms => 60000)", Jsonb({"error": "odd"}), before
        )[0]
        pages += page
        if before is None:
            break
    assert pages == ids[::-1]


def test_a_filter_cannot_smuggle_in_sql(hand: Hand, jobs: dict[str, UUID]) -> None:
    assert found(hand, {"kind": "x' or true --"}) == []
    assert found(hand, {"queue": ["x') or true --"]}) == []
    with pytest.raises(Exception, match="job_state"):
        found(hand, {"state": "failed'::penstock.job_state) or true --"})
