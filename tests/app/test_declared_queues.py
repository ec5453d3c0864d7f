"""`app.queue`: what the code says of its queues, and what becomes of an operator's own settings."""

from typing import Any

import pytest

from penstock import Backoff, InvalidInput, Penstock
from tests.kit.working import working


def settings(app: Penstock, name: str = "mail") -> dict[str, Any]:
    return next((queue.settings for queue in app.queues.list() if queue.name == name), {})


def application(url: str, **declared: Any) -> Penstock:
    app = Penstock(url)
    if declared:
        app.queue("mail", **declared)
    return app


def test_migrating_applies_them(url: str) -> None:
    with application(url, max_running_per_key=1, rate=100, rate_period=60, backoff=Backoff(60)) as app:
        app.migrate()
        assert settings(app)["max_running_per_key"] == 1
        assert (settings(app)["rate"], settings(app)["rate_period"]) == (100, 60)
        assert settings(app)["backoff"]["base"] == 60


async def test_a_worker_that_starts_applies_them(url: str) -> None:
    async with application(url, max_running=3) as app, working(app, {"mail": 1}):
        [queue] = await app.queues.alist()
        assert queue.settings == {"max_running": 3}


async def test_a_server_that_starts_applies_them(url: str) -> None:
    async with application(url, max_running=3) as app:
        await app.declare()
        assert (await app.queues.alist())[0].settings == {"max_running": 3}


def test_what_an_operator_sets_stays_until_the_code_says_something_else(url: str) -> None:
    with application(url, max_running=3, rate=5) as app:
        app.migrate()
        app.queues.set("mail", max_running=10, keep="failed")
        app.migrate()
        assert settings(app) == {"max_running": 10, "rate": 5, "rate_period": 1.0, "keep": "failed"}
    with application(url, max_running=3, rate=6) as app:
        app.migrate()
        assert settings(app) == {"max_running": 10, "rate": 6, "rate_period": 1.0, "keep": "failed"}
    with application(url, max_running=4) as app:
        app.migrate()
        assert settings(app) == {"max_running": 4, "keep": "failed"}


def test_an_application_without_a_word_about_a_queue_changes_nothing(url: str) -> None:
    with application(url, max_running=3) as app:
        app.migrate()
    with application(url) as app:
        app.migrate()
        assert settings(app) == {"max_running": 3}


def test_a_pause_is_the_operator_s(url: str) -> None:
    with application(url, max_running=3) as app:
        app.migrate()
        app.queues.pause("mail")
        app.migrate()
        assert app.queues.list()[0].paused
        with pytest.raises(InvalidInput, match="paused: is the operator's"):
            app.queue("other", paused=True)


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [("", {}, "name"), ("mail", {"rate": 1}, "name"), ("b", {"rate": 1.5}, "rate"), ("c", {"fair_by": "x"}, "fair_by")],
)
def test_what_makes_no_sense_is_refused_where_it_is_written(name: str, given: dict[str, Any], field: str) -> None:
    app = application("postgresql://nowhere/", max_running=1)
    with pytest.raises(InvalidInput) as refused:
        app.queue(name, **given)
    assert refused.value.field == field
