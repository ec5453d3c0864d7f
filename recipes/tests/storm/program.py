"""Both recipes in one application, for workers that are killed."""

import os
from functools import cache

from penstock import Backoff, Penstock
from penstock_recipes import exports, readings


def make_app(url: str, files: str, chapters: int) -> Penstock:
    app = Penstock(url, artifacts=files)
    # a killed worker costs its jobs an attempt, and here they are killed far more often than usual
    exports.install(app, per_day=None, running=None, storage=None, max_attempts=50, backoff=Backoff.constant(0.1))
    readings.install(
        app,
        chapters=chapters,
        max_attempts=50,
        backoff=Backoff.constant(0.1),
        per_day=None,
        unfinished=None,
        storage=None,
    )
    return app


@cache
def _of_a_worker() -> Penstock:
    return make_app(os.environ["DATABASE_URL"], os.environ["PENSTOCK_ARTIFACTS"], int(os.environ["STORM_CHAPTERS"]))


def __getattr__(name: str) -> Penstock:
    """`app`, for `penstock worker`: what it is to do is in its environment."""
    if name == "app":
        return _of_a_worker()
    raise AttributeError(name)
