"""Requests that schemathesis makes of the API's description, and what the answers are held to.

It takes seconds to load, which only those processes of a run should spend that ask.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import requests
import schemathesis
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi import checks

from tests import slow
from tests.server.described import DESCRIPTION
from tests.server.fitting import fit
from tests.server.seeded import HEADERS, SeededServer, Seeds

Case: TypeAlias = schemathesis.Case[Any]

LONGEST_URL = 60_000
"""Longer ones are refused by uvicorn's parser, in its own words, before they are a request."""
ALSO_JOBS = ("/api/jobs/batch", "/api/jobs/tick")
"""GET and DELETE of these mean the job of that id, and are refused for what it is: 422 instead of 405."""
KNOWS_MORE = [
    "start_job", "start_batch", "complete_jobs", "complete_and_enqueue", "fail_jobs", "snooze_jobs", "release_jobs",
    "upload_artifact", "remember_step", "report_progress", "confirm_cancelled", "suspend",
]  # fmt: skip
"""These refuse what the description cannot forbid: unknown kinds, arguments that do not fit, the same job twice, a wait
of which half is missing."""


@cache
def schema_for(caller: str, examples: int) -> Any:
    """What is sent is varied systematically as the service, which may do everything: it is read the same for all."""
    accepted = ["2xx", "3xx", "401", "403", "404", "409", "410", "429"]
    config = {
        "generation": {
            "max-examples": examples * 100 if slow.asked_for else examples,
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


@dataclass(frozen=True)
class Asking:
    """Whoever asks, and what there is to ask about."""

    running: SeededServer
    seeds: Seeds
    session: requests.Session

    def ask(self, path: str, method: str, caller: str, examples: int) -> None:
        """What to ask is made here, and not by schemathesis' `parametrize`: that does it while tests are collected, in
        each process of a run, and took five seconds."""

        def ask(case: Case) -> None:
            fit(case, self.seeds)
            sent = requests.Request(**case.as_transport_kwargs(self.running.address)).prepare().url or ""
            if len(sent) < LONGEST_URL:
                case.call_and_validate(
                    self.running.address,
                    self.session,
                    HEADERS[caller],
                    checks=CHECKS,
                    timeout=30,
                    allow_redirects=False,
                )

        load_all_checks()
        schema = schema_for(caller, examples)
        build_operation_test(
            config=schema.config,
            operation=schema[path][method.upper()],
            test_func=ask,
            given_kwargs={},
            feedback=FeedbackSources(),
        )()
