"""What the service may choose for a job it starts, and users may not; and requests that are no requests."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock import Flow, Penstock
from penstock.job import JobState
from tests.server.api import Api


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    async def work(n: int = 0) -> None: ...

    @app.flow(users=True)
    def several() -> Flow:
        flow = Flow()
        flow.add(work.prepare())
        return flow

    return app


async def test_the_service_chooses_when_where_and_before_whom(api: Api, app: Penstock) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    for choices in (
        {"run_at": later.isoformat(), "priority": 2**31 - 1, "queue": "nightly"},
        {"delay": 3600, "priority": -(2**31)},
    ):
        answer = await api.service.post("/api/jobs", {"kind": "work", **choices})
        assert (answer.status_code, answer.json()["state"]) == (202, "scheduled"), answer.text
    second, first = (await app.jobs.alist()).jobs
    assert (first.run_at, first.priority, first.queue) == (later, 2**31 - 1, "nightly")
    assert timedelta(minutes=59) < second.run_at - datetime.now(UTC) < timedelta(minutes=61)
    assert (second.priority, second.queue) == (-(2**31), "default")


@pytest.mark.parametrize(
    "choice", [{"run_at": "2030-01-01T00:00:00Z"}, {"delay": 1}, {"priority": 1}, {"queue": "fast"}]
)
async def test_a_user_is_told_that_they_may_not(api: Api, app: Penstock, choice: dict[str, object]) -> None:
    [name] = choice
    for kind in ("work", "several"):
        answer = await api.user().post("/api/jobs", {"kind": kind, **choice})
        assert (answer.status_code, answer.json()["detail"]) == (403, f"{name}: only the service chooses it")
    refused = await api.service.post("/api/jobs", {"kind": "several", **choice})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == name
    assert (await app.jobs.alist()).jobs == []


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        ({"run_at": "tomorrow"}, "run_at"),
        ({"delay": -1}, "delay"),
        ({"delay": 1e300}, "delay"),
        ({"delay": "1"}, "delay"),
        ({"priority": 1.5}, "priority"),
        ({"priority": 2**31}, "priority"),
        ({"queue": ""}, "queue"),
        ({"run_at": "2030-01-01T00:00:00Z", "delay": 5}, "delay"),
    ],
)
async def test_a_choice_that_is_none_is_named(api: Api, app: Penstock, choice: dict[str, object], field: str) -> None:
    answer = await api.service.post("/api/jobs", {"kind": "work", **choice})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert (await app.jobs.alist()).jobs == []


async def test_each_job_of_a_batch_has_its_own_choices(api: Api, app: Penstock) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    choices = {"run_at": later.isoformat(), "priority": 7, "queue": "nightly"}
    jobs = [{"kind": "work"}, {"kind": "work", **choices}]
    headers = {"Idempotency-Key": "night"}
    answer = await api.service.post("/api/jobs/batch", {"jobs": jobs}, headers=headers)
    assert answer.status_code == 202, answer.text
    nightly, at_once = (await app.jobs.alist(kind="work")).jobs
    assert (at_once.state, at_once.priority, at_once.queue) == (JobState.READY, 0, "default")
    assert (nightly.state, nightly.priority, nightly.queue) == (JobState.SCHEDULED, 7, "nightly")
    assert nightly.run_at == later
    again = await api.service.post("/api/jobs/batch", {"jobs": jobs}, headers=headers)
    assert again.json()["jobs"] == answer.json()["jobs"]
    other = [{"kind": "work"}, {"kind": "work", **choices, "priority": 1}]
    assert (await api.service.post("/api/jobs/batch", {"jobs": other}, headers=headers)).status_code == 422


async def test_a_choice_of_a_batch_is_refused_by_its_place(api: Api, app: Penstock) -> None:
    jobs = [{"kind": "work"}, {"kind": "work", "delay": 1e300}]
    refused = await api.service.post("/api/jobs/batch", {"jobs": jobs})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "jobs.1.delay")
    forbidden = await api.user().post("/api/jobs/batch", {"jobs": [{"kind": "work", "delay": 1}]})
    assert (forbidden.status_code, forbidden.json()["detail"]) == (403, "delay: only the service chooses it")
    assert (await app.jobs.alist()).jobs == []


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["batch", "tick"])
async def test_another_method_is_not_allowed(api: Api, method: str, path: str) -> None:
    answer = await api.service(method, f"/api/jobs/{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_broken_json_names_no_field_of_its_own(api: Api) -> None:
    for body in (b"{", b'{"kind": }', b"x"):
        headers = {"Content-Type": "application/json"}
        answer = await api.service.post("/api/jobs", content=body, headers=headers)
        assert answer.status_code == 422
        [error] = answer.json()["errors"]
        assert error["field"] == "body"
        assert error["problem"].startswith("is not JSON: ")


@pytest.mark.parametrize(
    ("path", "body", "problems"),
    [
        ("/api/jobs", {"kind": "work", "runAt": "2030-01-01T00:00:00Z"}, {"runAt": "run_at"}),
        ("/api/jobs", {"kind": "work", "Priority": 1, "RUN-AT": "x"}, {"Priority": "priority", "RUN-AT": "run_at"}),
        ("/api/jobs", {"kind": "work", "quue": "mail", "priority": "x"}, {"quue": "queue", "priority": ""}),
        ("/api/jobs", {"kind": "work", "colour": "red", "q" * 60: 1}, {"colour": "", "q" * 60: ""}),
        ("/api/jobs/batch", {"jobs": [{"kind": "work", "arg": {}}]}, {"jobs.0.arg": "args"}),
        ("/api/jobs/batch", {"jobs": [{"kind": "work"}], "Owner": "ada"}, {"Owner": "owner"}),
        ("/api/jobs/tick", {"Limit": 1}, {"Limit": "limit"}),
        ("/api/events", {"event": "paid", "Key": "7"}, {"Key": "key"}),
    ],
)
async def test_a_slip_in_a_fields_name_is_answered_with_the_name(
    api: Api, path: str, body: dict[str, object], problems: dict[str, str]
) -> None:
    """Under the field's name as it was sent, beside whatever else is wrong."""
    answer = await api.service.post(path, body)
    assert answer.status_code == 422, answer.text
    told = {each["field"]: each["problem"] for each in answer.json()["errors"]}
    assert told.keys() == problems.keys()
    for field, name in problems.items():
        hint = f"Extra inputs are not permitted (did you mean {name!r}?)"
        assert told[field] == hint if name else "did you mean" not in told[field]
