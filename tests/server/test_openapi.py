"""The whole API, asked with whatever its description allows and forbids, by anybody: no 500, nothing undocumented.

When slow tests are asked for, at random and for much longer.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
import requests
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.testing.database import throw_away
from tests import slow
from tests.server.fitting import fit
from tests.server.seeded import HEADERS, SeededServer, Seeds, seeded_server

Case: TypeAlias = schemathesis.Case[Any]
pytestmark = [pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []

DESCRIPTION = Server(Penstock("postgresql://nowhere"), ServerSettings()).asgi.openapi()

LONGEST_URL = 60_000
"""Longer ones are refused by uvicorn's parser, in its own words, before they are a request."""
ALSO_JOBS = ("/api/jobs/batch", "/api/jobs/tick")
"""GET and DELETE of these mean the job of that id, and are refused for what it is: 422 instead of 405."""
KNOWS_MORE = ["start_job", "start_batch", "complete_jobs", "upload_artifact", "remember_step"] + [
    f"{verb}_jobs" for verb in ("fail", "snooze", "release")
] + ["report_progress", "confirm_cancelled"]  # fmt: skip
"""These refuse what the description cannot forbid: unknown kinds, arguments that do not fit, the same job twice."""


def schema_for(caller: str, examples: int) -> Any:
    """What is sent is varied systematically as the service, which may do everything: it is read the same for all."""
    accepted = ["2xx", "3xx", "401", "403", "404", "409", "410", "429"]
    config = {
        "generation": {
            "max-examples": examples * 60 if slow.asked_for else examples,
            "deterministic": not slow.asked_for,
            "database": "none",
            "no-shrink": not slow.asked_for,
            "with-security-parameters": caller == "anonymous",
        },
        "phases": {
            # learning from answers would make one test depend on those before it
            "fuzzing": {"extra-data-sources": {"responses": False}},
            "coverage": {"extra-data-sources": {"responses": False}, "enabled": slow.asked_for or caller == "service"},
        },
        "checks": {
            "positive_data_acceptance": {"expected-statuses": accepted},
            "negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 409, 410, 413, 422]},
        },
        "operations": [
            {
                "include-operation-id": KNOWS_MORE,
                "checks": {"positive_data_acceptance": {"expected-statuses": [*accepted, "422"]}},
            },
            # most of the 2,262 cases, for the bodies with the most fields; they are our own workers'
            *([] if slow.asked_for else [{"include-tag": "workers", "phases": {"coverage": {"enabled": False}}}]),
        ],
        "suppress-health-check": ["all"],
    }  # fmt: skip
    return schemathesis.openapi.from_dict(DESCRIPTION, config=SchemathesisConfig.from_dict(config))


def refusals_name_the_field(_: object, response: Any, case: Case) -> None:
    if response.status_code == 422:
        refused = response.json()["errors"]
        assert refused, case
        # a field may be called "", and then that is its name
        assert all(each["field"] or each["problem"].startswith("Extra") for each in refused), refused


def not_allowed_elsewhere(context: Any, response: Any, case: Case) -> None:
    if case.path not in ALSO_JOBS:
        checks.unsupported_method(context, response, case)


CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
    checks.positive_data_acceptance,
    not_allowed_elsewhere,
    refusals_name_the_field,
]


@pytest.fixture(scope="module")
def running(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededServer]:
    with throw_away(server, template) as url, seeded_server(url, tmp_path_factory.mktemp("penstock")) as running:
        yield running


@pytest.fixture
def seeds(running: SeededServer) -> Seeds:
    return running.seed()


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def ask(case: Case, caller: str, running: SeededServer, seeds: Seeds, session: requests.Session) -> None:
    fit(case, seeds)
    headers = HEADERS[caller]
    if len(requests.Request(**case.as_transport_kwargs(running.address)).prepare().url or "") < LONGEST_URL:
        case.call_and_validate(running.address, session, headers, checks=CHECKS, timeout=30, allow_redirects=False)


@schema_for("anonymous", 2).parametrize()  # type: ignore[untyped-decorator]
def test_anybody(case: Case, running: SeededServer, seeds: Seeds, session: requests.Session) -> None:
    ask(case, "anonymous", running, seeds, session)


@schema_for("user", 3).parametrize()  # type: ignore[untyped-decorator]
def test_a_user(case: Case, running: SeededServer, seeds: Seeds, session: requests.Session) -> None:
    ask(case, "user", running, seeds, session)


@schema_for("service", 5).parametrize()  # type: ignore[untyped-decorator]
def test_the_service(case: Case, running: SeededServer, seeds: Seeds, session: requests.Session) -> None:
    ask(case, "service", running, seeds, session)
