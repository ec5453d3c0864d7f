"""Calls: recordings are turned into audio, text and an analysis, stage by stage.

`penstock up penstock_recipes.calls:app`, or `install(app)` into an application of your own.
"""

import os
from collections.abc import Callable, Mapping
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import Backoff, EngineCannot, Penstock, PenstockError
from penstock.storage import Store
from penstock_recipes.application import made_on_demand
from penstock_recipes.pages import add_page
from penstock_recipes.requirements import require

if TYPE_CHECKING:
    from fastapi import APIRouter

    from penstock_recipes.calls.jobs import Stage
    from penstock_recipes.calls.providers.analysis import Analyst
    from penstock_recipes.calls.providers.transcription import Transcriber

__all__ = ["install", "make_app"]

GIGABYTE = 1024**3
POLL_INTERVAL = 5.0
DAY = 24 * 3600


def install(
    app: Penstock,
    *,
    transcriber: "Transcriber | None" = None,
    analyst: "Analyst | None" = None,
    poll_interval: float | None = None,
    max_polls: int | None = None,
    webhook_timeout: float | None = None,
    max_bytes: int = GIGABYTE,
    max_org_bytes: int | None = None,
    queues: "Mapping[Stage, str] | None" = None,
    max_attempts: int | None = None,
    backoff: Backoff | None = None,
    page: bool = True,
) -> None:
    """Adds tables, jobs and routes to an application. Without providers, those that the environment names, else the
    offline ones.

    `poll_interval`: seconds between two looks at a transcription, SPEECHKIT_POLL_INTERVAL_MS unless given; `max_polls`:
    after how many it has failed, unless given a day's. With `webhook_timeout` (SPEECHKIT_WEBHOOK_TIMEOUT_MS) the
    transcriber is told where to call when it is ready, and not looked at before it has, or so many seconds have passed.
    `max_bytes` of a recording; the server's own limit for uploads (PENSTOCK_MAX_UPLOAD) holds too. `max_org_bytes` of
    all its calls that an organisation may keep, asked at the upload and by every stage, CALLS_MAX_ORG_BYTES unless
    given, else no limit. `queues` says where each stage's jobs wait. With a `page` for people at /calls.
    """
    require("calls", "av")
    from penstock_recipes.calls.jobs import BACKOFF, MAX_ATTEMPTS, QUEUES, Pipeline
    from penstock_recipes.calls.stages import Stages

    interval = poll_interval if poll_interval is not None else _poll_interval()
    within = webhook_timeout if webhook_timeout is not None else _seconds("SPEECHKIT_WEBHOOK_TIMEOUT_MS")
    transcriber = transcriber or _transcriber()
    if within is not None:
        _check_webhook(app, transcriber, within)
    org_bytes = max_org_bytes or _max_org_bytes()
    stages = Stages(app, transcriber, analyst or _analyst(), interval, within, org_bytes)
    pipeline = Pipeline(
        app,
        stages,
        max_polls=max_polls if max_polls is not None else ceil(DAY / max(interval, 0.1)),
        queues=queues or QUEUES,
        max_attempts=max_attempts or MAX_ATTEMPTS,
        backoff=backoff or BACKOFF,
    )
    app.add_migrations("calls", files(__package__) / "migrations")
    app.need("artifacts")

    def routes() -> "APIRouter":
        from penstock_recipes.calls.routes import make_router

        return make_router(pipeline, max_bytes, org_bytes)

    app.add_routes(routes, uploads=["/api/v1/calls"])
    if page:
        add_page(app, __name__, title="Calls", about="Recordings become text beside the player, and an analysis.")
    org = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
    silence = "import wave; w = wave.open('call.wav', 'wb'); w.setparams((1, 2, 8000, 0, 'NONE', '')); "
    app.example(
        f'python3 -c "{silence}w.writeframes(bytes(80000))" && penstock token --sub ada --org {org} --header | '
        "curl -H @- -H 'Content-Type: audio/wav' --data-binary @call.wav "
        f"'{{api}}/api/v1/calls?orgId={org}&fileName=call.wav'"
    )


def make_app(url: str | None = None, *, artifacts: str | Path | Store | None = None) -> Penstock:
    """An application of its own that is nothing but calls."""
    app = Penstock(url, artifacts=artifacts)
    install(app)
    return app


def _poll_interval() -> float:
    told = _seconds("SPEECHKIT_POLL_INTERVAL_MS")
    return POLL_INTERVAL if told is None else told


def _seconds(variable: str) -> float | None:
    told = os.environ.get(variable)
    if told is None:
        return None
    if not told.isdigit():
        raise PenstockError(f"{variable} must be a whole number of milliseconds, not {told!r}")
    return int(told) / 1000


def _check_webhook(app: Penstock, transcriber: "Transcriber", seconds: float) -> None:
    from penstock_recipes.calls.providers.transcription import CallingTranscriber

    if not app.engine.capabilities.durable_waits:
        raise EngineCannot(
            "durable_waits",
            "webhook_timeout (SPEECHKIT_WEBHOOK_TIMEOUT_MS): a job that waits to be called must be in Postgres, and "
            "those of this application are in Redis: leave it out, and the transcription is looked at now and then",
        )
    if not isinstance(transcriber, CallingTranscriber):
        raise PenstockError(
            f"the transcriber {transcriber.name!r} calls nobody: leave out webhook_timeout "
            "(SPEECHKIT_WEBHOOK_TIMEOUT_MS), or give one that has start_with_callback"
        )
    if not 0 < seconds <= 2 * DAY:
        raise PenstockError(
            f"webhook_timeout (SPEECHKIT_WEBHOOK_TIMEOUT_MS) must be more than 0 and at most two days, not {seconds:g} "
            "seconds: SpeechKit keeps its results for three"
        )


def _max_org_bytes() -> int | None:
    told = os.environ.get("CALLS_MAX_ORG_BYTES")
    if told is not None and not told.isdigit():
        raise PenstockError(f"CALLS_MAX_ORG_BYTES must be a whole number of bytes, not {told!r}")
    return None if told is None else int(told)


def _transcriber() -> "Transcriber":
    if os.environ.get("SPEECHKIT_API_KEY") or os.environ.get("SPEECHKIT_IAM_TOKEN"):
        from penstock_recipes.calls.providers.transcription.speechkit import SpeechKit

        return SpeechKit()
    from penstock_recipes.calls.providers.transcription.offline import OfflineTranscriber

    return OfflineTranscriber()


def _analyst() -> "Analyst":
    if model := os.environ.get("CALLS_ANALYSIS_MODEL"):
        from penstock_recipes.calls.providers.analysis.claude import ClaudeAnalyst

        return ClaudeAnalyst(model)
    from penstock_recipes.calls.providers.analysis.offline import OfflineAnalyst

    return OfflineAnalyst()


__getattr__: Callable[[str], Penstock] = made_on_demand(__name__, make_app)
