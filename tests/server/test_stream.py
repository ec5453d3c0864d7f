"""A stream of a job: what it tells, in which order, and how a client comes back to it."""

import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from penstock.engine import commands
from penstock.flow import batch
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.kit.serving import AS_SERVICE, SECRET, Served
from tests.kit.until import until
from tests.server.streaming import path_of, serving, streaming


@pytest.fixture
async def api(url: str) -> AsyncIterator[Served]:
    async with serving(url, keep_alive=30) as running:
        yield running


def token(**claims: object) -> dict[str, str]:
    told = {"sub": "ann", "role": "authenticated", "aud": "authenticated", "exp": int(time.time()) + 60, **claims}
    return {"Authorization": f"Bearer {jwt.encode({'alg': 'HS256'}, told, OctKey.import_key(SECRET))}"}


async def test_a_stream_tells_the_state_then_progress_then_the_end(api: Served, hand: Hand) -> None:
    id = hand.add("export")
    worker = hand.worker()
    async with streaming(api.port, path_of(id)) as client:
        assert client.status == 200
        assert client.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert client.headers["cache-control"] == "no-cache, no-transform"
        assert client.headers["x-accel-buffering"] == "no"
        first = await client.event()
        assert client.retry == "2000"
        assert first is not None
        assert (first.name, first.data["state"], first.data["progress"]["percent"]) == ("progress", "ready", 0)
        assert (first.data["id"], first.data["kind"], "args" in first.data) == (str(id), "export", False)
        await listening(api)

        job = worker.claim_one()
        begun = await client.event()
        assert begun is not None
        assert (begun.name, begun.data["state"], begun.data["progress"]["percent"]) == ("progress", "running", 0)

        worker.progress(job, 40, phase="render", message="page 4\nof 10", done=4, total=10)
        second = await client.event()
        assert second is not None
        assert (second.name, second.data["state"]) == ("progress", "running")
        assert second.data["progress"] == {
            "percent": 40, "phase": "render", "done": 4, "total": 10, "failed": None, "message": "page 4\nof 10",
            "reason": None,
        }  # fmt: skip

        worker.complete(job)
        [last] = await client.events()
        assert (last.name, last.data["state"], last.data["progress"]["percent"]) == ("succeeded", "succeeded", 100)
        assert (last.data["id"], last.data["error"], last.data["result_url"]) == (str(id), None, None)
        assert "result_url" not in second.data
    assert len({first.id, begun.id, second.id, last.id}) == 4


async def test_a_failed_job_ends_its_stream_with_its_error(api: Served, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    async with streaming(api.port, path_of(id)) as client:
        await client.event()
        await listening(api)
        worker.fail(job, "no paper", final=True)
        [last] = await client.events()
    assert (last.name, last.data["error"]) == ("failed", "no paper")


async def test_a_cancelled_job_ends_its_stream(api: Served, hand: Hand) -> None:
    id = hand.add()
    async with streaming(api.port, path_of(id)) as client:
        await client.event()
        await listening(api)
        hand.run(commands.Cancel([id]))
        [last] = await client.events()
    assert (last.name, last.data["state"]) == ("cancelled", "cancelled")


async def test_a_job_that_has_ended_gets_its_last_event_and_no_other(api: Served, hand: Hand) -> None:
    id = hand.add()
    hand.worker().finish_all()
    for headers in (AS_SERVICE, {**AS_SERVICE, "Last-Event-ID": "of another time"}):
        async with streaming(api.port, path_of(id), headers) as client:
            assert [event.name for event in await client.events()] == ["succeeded"]


async def test_who_has_seen_the_end_is_told_to_stop_coming(api: Served, hand: Hand) -> None:
    id = hand.add()
    hand.worker().finish_all()
    async with streaming(api.port, path_of(id)) as client:
        [last] = await client.events()
    async with streaming(api.port, path_of(id), {**AS_SERVICE, "Last-Event-ID": str(last.id)}) as client:
        assert client.status == 204
    async with streaming(api.port, f"{path_of(id)}?last_event_id={last.id}") as client:
        assert client.status == 204


async def test_who_comes_back_is_not_told_again_what_it_knows(api: Served, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    async with streaming(api.port, path_of(id)) as client:
        known = await client.event()
        assert known is not None
        await listening(api)
    headers = {**AS_SERVICE, "Last-Event-ID": str(known.id)}
    async with streaming(api.port, path_of(id), headers) as client:
        worker.progress(job, 10)
        event = await client.event()
        assert event is not None
        assert event.data["progress"]["percent"] == 10


async def test_who_comes_back_is_told_the_newest_state_at_once(api: Served, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    async with streaming(api.port, path_of(id)) as client:
        known = await client.event()
        assert known is not None
    for percent in (10, 20, 30):
        worker.progress(job, percent)
    async with streaming(api.port, path_of(id), {**AS_SERVICE, "Last-Event-ID": str(known.id)}) as client:
        event = await client.event()
        assert event is not None
        assert event.data["progress"]["percent"] == 30


async def test_an_event_s_id_is_the_same_on_every_server(url: str, api: Served, hand: Hand) -> None:
    id = hand.add()
    async with serving(url) as other:
        found = []
        for port in (api.port, other.port):
            async with streaming(port, path_of(id)) as client:
                found.append(await client.event())
    assert found[0] == found[1]


async def test_a_report_that_changes_nothing_is_not_told(api: Served, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    worker.progress(job, 50)
    async with streaming(api.port, path_of(id)) as client:
        await client.event()
        await listening(api)
        other = hand.add(queue="other")
        async with streaming(api.port, path_of(other)) as later:
            await later.event()
            worker.progress(job, 50)
            # looked up after it, or with it
            hand.run(commands.Cancel([other]))
            await later.events()
        worker.complete(job)
        assert [event.name for event in await client.events()] == ["succeeded"]


async def test_a_flow_s_stream_tells_of_its_children(api: Served, hand: Hand) -> None:
    root = hand.start(batch([NewJob(kind="a"), NewJob(kind="b")]))
    worker = hand.worker()
    first, second = worker.claim(2)
    async with streaming(api.port, path_of(root)) as client:
        await client.event()
        await listening(api)
        told = []
        worker.progress(first, 50)
        told.append(await client.event())
        worker.complete(first)
        told.append(await client.event())
        worker.complete(second)
        told += await client.events()
    assert [(event.name, event.data["progress"]["percent"]) for event in told if event] == [
        ("progress", 25),
        ("progress", 50),
        ("succeeded", 100),
    ]


async def test_a_silent_stream_is_kept_alive(url: str, hand: Hand) -> None:
    id = hand.add()
    async with serving(url, keep_alive=0.1) as server, streaming(server.port, path_of(id)) as client:
        await client.event()
        assert [await client.comment() for _ in range(3)] == ["keep-alive"] * 3


async def test_a_stream_that_is_open_long_enough_ends_with_a_timeout(url: str, hand: Hand) -> None:
    id = hand.add()
    async with serving(url, stream_seconds=0.2) as server, streaming(server.port, path_of(id)) as client:
        [_, last] = await client.events()
        assert (last.name, last.data) == ("timeout", {"message": "Stream timeout"})
        assert server.hub.watchers == 0


async def test_a_browser_may_show_its_token_in_the_address(api: Served, hand: Hand) -> None:
    id = hand.add(owner="ann")
    shown = token()["Authorization"].removeprefix("Bearer ")
    async with streaming(api.port, f"{path_of(id)}?access_token={shown}", {}) as client:
        event = await client.event()
    assert event is not None
    assert event.data["id"] == str(id)


async def test_a_stream_does_not_outlive_the_caller_s_token(api: Served, hand: Hand) -> None:
    id = hand.add(owner="ann")
    async with streaming(api.port, path_of(id), token(exp=int(time.time()) + 2)) as client:
        assert [event.name for event in await client.events()] == ["progress", "timeout"]


async def test_a_server_that_stops_ends_its_streams(url: str, hand: Hand) -> None:
    id = hand.add()
    async with serving(url) as server:
        streams = streaming(server.port, path_of(id))
        client = await streams.__aenter__()
        await client.event()
    assert await client.event() is None
    await streams.__aexit__(None, None, None)


async def test_an_unknown_job_is_a_404_before_the_stream_starts(api: Served) -> None:
    async with streaming(api.port, path_of(uuid4())) as client:
        assert client.status == 404
        assert client.headers["content-type"] == "application/problem+json"


async def test_what_is_no_id_is_named(api: Served) -> None:
    async with streaming(api.port, path_of("seven")) as client:
        assert client.status == 422
        assert (await client.body())["errors"] == [{"field": "id", "problem": "must be a UUID"}]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer forged"}])
async def test_who_shows_no_token_sees_nothing(api: Served, hand: Hand, headers: dict[str, str]) -> None:
    async with streaming(api.port, path_of(hand.add()), headers) as client:
        assert client.status == 401


async def test_a_token_in_the_address_must_verify_too(api: Served, hand: Hand) -> None:
    async with streaming(api.port, f"{path_of(hand.add())}?access_token=forged", {}) as client:
        assert client.status == 401


async def test_a_user_does_not_learn_of_another_s_job(api: Served, hand: Hand) -> None:
    id = hand.add(owner="ben")
    async with streaming(api.port, path_of(id), token()) as client:
        answers = [await client.body()]
    async with streaming(api.port, path_of(uuid4()), token()) as client:
        answers.append(await client.body())
    assert client.status == 404
    assert answers[0] == answers[1]


async def listening(server: Served) -> None:
    """From here on a change is told by a notification; before, it is found when listening begins."""

    await until(lambda: server.hub.listening)
