"""Where a push kind may send its jobs."""

from collections.abc import Sequence

import pytest

from penstock import InvalidInput, JobState, Penstock
from tests.kit.fake_http import Answer, Request, fake_server
from tests.kit.working import working
from tests.worker.pushing import AT_ONCE, HERE, SECRET, answering, finished, pushed


async def test_a_redirect_is_a_failure_that_says_so(app: Penstock) -> None:
    async with fake_server(answering(Answer(308, headers={"Location": "/elsewhere"}))) as server:
        handler = pushed(app, server, max_attempts=1)
        async with working(app):
            job = await finished(handler)
    assert len(server.requests) == 1
    assert job.last_error is not None
    assert "answered 308, a redirect, which is not followed" in job.last_error


@pytest.mark.parametrize(
    ("status", "target", "error"),
    [
        (308, "/elsewhere", None),
        (307, "/elsewhere", None),
        (303, "/elsewhere", "loses the job"),
        (302, "/elsewhere", "loses the job"),
        (308, "http://169.254.169.254/latest/meta-data", "a link-local address"),
        (308, "http://10.0.0.1/", "a private address"),
    ],
)
async def test_redirects_are_followed_if_asked_where_the_guard_lets_them(
    app: Penstock, status: int, target: str, error: str | None
) -> None:
    def answer(request: Request) -> Answer:
        return Answer(200, b'"there"') if request.path == "/elsewhere" else Answer(status, headers={"Location": target})

    async with fake_server(answer) as server:
        handler = pushed(app, server, max_attempts=1, follow_redirects=True)
        async with working(app):
            job = await finished(handler)
    if error is None:
        assert (job.output, server.requests[-1].method) == ("there", "POST")
    else:
        assert error in str(job.last_error)


async def test_a_private_address_is_refused_for_good_and_nothing_is_sent(app: Penstock) -> None:
    async with fake_server(answering(Answer())) as server:
        handler = pushed(app, server, allow=())
        async with working(app):
            job = await finished(handler)
    assert (job.state, job.attempt, server.requests) == (JobState.FAILED, 1, [])
    assert job.last_error == (
        "127.0.0.1 leads to a loopback address; if that is meant, allow its network "
        "(allow=… of app.push, or PENSTOCK_PUSH_ALLOW)"
    )


async def test_a_name_that_leads_to_a_private_address_is_tried_again(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner may put the name right meanwhile."""
    answers: list[Sequence[str]] = [["10.0.0.1"], ["127.0.0.1"]]

    async def resolve(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    monkeypatch.setattr("penstock.outbound.guard._resolve", resolve)
    async with fake_server(answering(Answer(200, b"1"))) as server:
        handler = app.push("notify", server.at("hooks.invalid"), secret=SECRET, allow=HERE, backoff=AT_ONCE)
        async with working(app):
            job = await finished(handler)
    assert (job.state, job.attempt, len(server.requests)) == (JobState.SUCCEEDED, 2, 1)
    assert "hooks.invalid leads to a private address" in job.errors[0]["error"]


async def test_the_environment_may_open_a_network(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PUSH_ALLOW", "10.0.0.0/8, 127.0.0.0/8 ,")
    async with fake_server(answering(Answer(200, b"1"))) as server:
        handler = pushed(app, server, allow=())
        async with working(app):
            assert (await finished(handler)).output == 1
    monkeypatch.setenv("PENSTOCK_PUSH_ALLOW", "everything")
    with pytest.raises(InvalidInput, match="takes networks such as"):
        app.push("other", server.url, secret=SECRET)
