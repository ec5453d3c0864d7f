"""Which engine each recipe runs on: on another it is refused by name before the first job, and nothing is half done."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock import EngineCannot, Penstock
from penstock_recipes import bookmarks, calls, exports, readings

REDIS = "redis://127.0.0.1:1/0"
"""Nobody is asked: a worker is refused before it looks for its engine."""


def _lacks(install: Callable[..., None], **options: Any) -> str | None:
    with Penstock("postgresql://127.0.0.1:1/x", jobs=REDIS) as app:
        install(app, **options)
        try:
            app.worker()
        except EngineCannot as refused:
            return refused.capability
    return None


def test_a_recipe_that_needs_postgres_is_refused_where_its_jobs_are_in_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bookmark's message is enqueued in SQL: workers that look into Redis would never find it."""
    assert _lacks(bookmarks.install) == "transactions"
    assert _lacks(exports.install) == "transactions"
    assert _lacks(readings.install, approve_recordings=False) == "after_existing"
    assert _lacks(calls.install) is None
    # each need is said, though one is enough to be refused
    needed: list[str] = []
    monkeypatch.setattr(Penstock, "need", lambda _, *names: needed.extend(names))
    assert _lacks(readings.install, approve_recordings=True) == "users", "what is seen of its flow"
    assert needed == ["after_existing", "durable_waits"]


def test_calls_needs_a_database_beside_its_jobs_for_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with Penstock(REDIS) as app:
        calls.install(app)
        with pytest.raises(EngineCannot) as refused:
            app.worker()
        assert refused.value.capability == "artifacts"
