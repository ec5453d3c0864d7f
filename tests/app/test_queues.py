"""`app.queues`: settings, pausing, and how much is in them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock import Backoff, Handler, InvalidInput, Penstock, Queue
from penstock.engine import commands
from tests.app.worker import Worker

Send = Handler[..., None]


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    def send(to: str) -> None: ...

    return send


def only(app: Penstock) -> Queue:
    [queue] = app.queues.list()
    return queue


BACKOFF = Backoff(60, cap=3600, factor=3, jitter=0.2)


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"max_running": 3}, {"max_running": 3}),
        ({"max_running_per_key": 2}, {"max_running_per_key": 2}),
        ({"rate": 100, "rate_period": 60}, {"rate": 100, "rate_period": 60}),
        ({"rate": 5}, {"rate": 5, "rate_period": 1}),
        ({"rate_per_key": 7, "rate_period": 0.5}, {"rate_per_key": 7, "rate_period": 0.5}),
        ({"fair_by": "owner"}, {"fair_by": "owner"}),
        ({"fair_by": "limit_key"}, {"fair_by": "limit_key"}),
        ({"lease_length": 90}, {"lease_length": 90}),
        ({"parked_timeout": 3600}, {"parked_timeout": 3600}),
        ({"keep": "failed"}, {"keep": "failed"}),
        ({"keep": "all"}, {}),
        ({"backoff": BACKOFF}, {"backoff": BACKOFF.to_json()}),
    ],
    ids=str,
)
def test_every_setting_is_kept_and_can_be_taken_away(
    app: Penstock, settings: dict[str, Any], shown: dict[str, Any]
) -> None:
    app.queues.set("mail", **settings)
    assert only(app) == Queue("mail", False, shown, 0, 0, 0, 0, None)
    app.queues.set("mail", **dict.fromkeys(settings))  # type: ignore[arg-type]
    assert only(app).settings == {}


def test_settings_left_out_stay(app: Penstock) -> None:
    app.queues.set("mail", max_running=3, rate=5)
    app.queues.set("mail", rate=None, keep="failed")
    assert only(app).settings == {"max_running": 3, "keep": "failed"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_running": 0}, "max_running: must be positive"),
        ({"max_running": "three"}, "max_running: must be a whole number, not 'three'"),
        ({"max_running": 1.5}, "max_running: must be a whole number, not 1.5"),
        ({"max_running_per_key": -1}, "max_running_per_key: must be positive"),
        ({"rate": 2**40}, "rate: must be a whole number"),
        ({"rate": True}, "rate: must be a whole number, not True"),
        ({"rate_per_key": 0}, "rate_per_key: must be positive"),
        ({"rate_period": 0}, "rate_period: must be positive"),
        ({"rate_period": math.nan}, "rate_period: must be a number of seconds up to 1e10, not nan"),
        ({"lease_length": -5}, "lease_length: must be positive"),
        ({"parked_timeout": 0}, "parked_timeout: must be positive"),
        ({"rate_period": 1e11}, "rate_period: must be a number of seconds up to 1e10, not"),
        ({"lease_length": "long"}, "lease_length: must be a number of seconds"),
        ({"fair_by": "kind"}, "fair_by: must be owner, org or limit_key, not 'kind'"),
        ({"keep": "none"}, "keep: must be all or failed, not 'none'"),
        ({"paused": "yes"}, "paused: must be true or false, not 'yes'"),
        ({"backoff": {"base": 5}}, "backoff: must be a Backoff"),
        ({"max-running": 3}, "max-running: no such setting of a queue"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name_and_nothing_changes(
    app: Penstock, settings: dict[str, Any], message: str
) -> None:
    app.queues.set("mail", max_running=9)
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.queues.set("mail", **settings)
    assert only(app).settings == {"max_running": 9}
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.queues.set("new", **settings)
    assert only(app).name == "mail"


def test_a_queue_needs_a_name(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match=r"^queue: must not be empty$"):
        app.queues.pause("")


def test_nothing_of_a_paused_queue_starts_until_it_is_resumed(app: Penstock, send: Send) -> None:
    send.enqueue("ada")
    app.queues.pause("default")
    assert only(app).paused
    worker = Worker(app)
    assert worker.claim() == []
    app.queues.resume("default")
    assert not only(app).paused
    assert len(worker.claim()) == 1


def test_listing_counts_what_is_in_each_queue_by_state(app: Penstock, send: Send) -> None:
    first = send.using(queue="mail").enqueue("running")
    send.using(queue="mail", after=[first]).enqueue("blocked")
    send.using(queue="mail").enqueue_many([{"to": "ready"}] * 3)
    send.using(queue="mail", delay=60).enqueue("scheduled")
    send.using(queue="pdf").enqueue("ready")
    Worker(app, "mail").claim_one()
    mail, pdf = app.queues.list()
    assert (mail.name, mail.blocked, mail.scheduled, mail.ready, mail.running) == ("mail", 1, 1, 3, 1)
    assert (pdf.name, pdf.ready, pdf.settings) == ("pdf", 1, {})
    assert mail.oldest_ready_seconds is not None
    assert 0 <= mail.oldest_ready_seconds < 60


async def test_queues_have_async_twins(app: Penstock) -> None:
    await app.queues.aset("mail", rate=5, rate_period=2)
    await app.queues.apause("mail")
    assert await app.queues.alist() == [Queue("mail", True, {"rate": 5, "rate_period": 2}, 0, 0, 0, 0, None)]
    await app.queues.aresume("mail")
    assert not (await app.queues.alist())[0].paused
    with pytest.raises(InvalidInput, match=r"^rate: must be positive$"):
        await app.queues.aset("mail", rate=0)


async def test_queues_are_counted_no_further_than_asked_for(app: Penstock, send: Send) -> None:
    send.enqueue_many([{"to": "a"}] * 5)
    send.using(delay=60).enqueue_many([{"to": "a"}] * 5)
    for [queue] in (app.queues.list(most=3), await app.queues.alist(most=3)):
        assert (queue.ready, queue.scheduled, queue.exact) == (3, 3, False)
    [queue] = app.queues.list(most=100)
    assert queue.exact
    assert (queue.ready, queue.scheduled) == (5, 5)


def test_usage_counts_runs_and_failures_by_org_and_kind(app: Penstock, send: Send) -> None:
    worker = Worker(app)
    send.using(org="acme").enqueue_many([{"to": "a"}] * 3)
    send.enqueue("nobody's")
    worker.complete(*worker.claim(2))
    worker.fail(worker.claim_one())
    worker.complete(worker.claim_one())
    used = {(day.org, day.kind): (day.runs, day.failures) for day in app.usage.list()}
    assert used == {("acme", "send"): (3, 1), ("", "send"): (1, 0)}
    app.engine.run(commands.Maintain())
    assert {(day.org, day.kind): (day.runs, day.failures) for day in app.usage.list()} == used
    since = datetime.now(UTC).date() - timedelta(days=1)
    assert app.usage.list(since=since) == app.usage.list()
    assert app.usage.list(since=since + timedelta(days=3)) == []
    send.using(org="acme").enqueue("after it was folded")
    worker.complete(worker.claim_one())
    sums = app.usage.sums(since=since)
    for by in ("day", "org", "kind"):
        assert sum(each.runs for each in sums if each.by == by) == sum(runs for runs, _ in used.values()) + 1
    assert [each.runs for each in app.usage.sums(since=since, org="acme")] == [4, 4, 4]
    assert {each.name for each in app.usage.sums(since=since, org="acme") if each.by == "org"} == {"acme"}


async def test_usage_of_one_org_in_async_code(app: Penstock, send: Send) -> None:
    worker = Worker(app)
    await send.using(org="acme").aenqueue_many([{"to": "a"}] * 2)
    await send.using(org="other").aenqueue("b")
    worker.run_all()
    [acme] = await app.usage.alist("acme")
    assert (acme.org, acme.runs, acme.failures, acme.bytes) == ("acme", 2, 0, 0)
    assert acme.seconds >= 0
