"""A provider calls back at a signed address: once, in time, for the job it was made for, and nobody can make one up."""

import asyncio
import base64
import time
from uuid import UUID, uuid4

import pytest

from penstock import Context, InvalidInput, JobState, Penstock, PenstockError
from penstock.callbacks import Callback, make_token, make_url
from penstock.engine.commands import StepsOf
from penstock.signatures import Signer
from penstock.storage.links import signing_secret_of
from penstock.testing import adrain
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.server.api import Api

URLS: list[str] = []
SIGNED_BY = signing_secret_of(KEY)
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()


@pytest.fixture
def app(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> Penstock:
    monkeypatch.delenv("PENSTOCK_SIGNING_SECRET", raising=False)
    monkeypatch.setenv("PENSTOCK_SERVICE_KEY", KEY)
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://jobs.example.com/")
    monkeypatch.setenv("PENSTOCK_CALLBACK_SECRET_BANK", WEBHOOK_SECRET)

    @app.job(users=True)
    async def pay(ctx: Context, secret: str | None = None) -> object:
        url = ctx.callback_url("paid", expires=600, secret=secret)
        await ctx.step("order", URLS.append, url)
        return await ctx.wait_for("paid", key=str(ctx.id))

    URLS.clear()
    return app


async def begun(api: Api, app: Penstock, **args: object) -> tuple[UUID, str]:
    id = await api.user().start("pay", **args)
    await adrain(app)
    url: str = URLS[-1]
    assert url.startswith("https://jobs.example.com/api/callbacks/")
    return UUID(id), url.removeprefix("https://jobs.example.com")


async def output_of(app: Penstock, id: UUID) -> object:
    await adrain(app)
    job = await app.jobs.aget(id)
    assert job is not None
    assert job.state in (JobState.SUCCEEDED, JobState.BLOCKED)
    return job.output


async def test_what_is_called_back_with_is_what_the_job_waits_for_and_only_once(api: Api, app: Penstock) -> None:
    id, path = await begun(api, app)
    answers = await asyncio.gather(*(api.nobody.post(path, {"amount": 12}) for _ in range(3)))
    assert sorted(each.status_code for each in answers) == [204, 410, 410]
    assert await output_of(app, id) == {"amount": 12}
    assert (await api.nobody.post(path, {"amount": 13})).status_code == 410


async def test_a_step_of_a_callbacks_name_takes_neither_its_place_nor_its_result(api: Api, app: Penstock) -> None:
    @app.job(users=True)
    async def collect(ctx: Context) -> list[object]:
        before = await ctx.step("callback_url paid", str, "before")
        await ctx.step("order", URLS.append, ctx.callback_url("paid"))
        await ctx.step("order again", URLS.append, ctx.callback_url("paid"))
        paid = [await ctx.wait_for("paid", key=str(ctx.id))]
        after = await ctx.step("callback_url paid 2", str, "after")
        paid.append(await ctx.wait_for("paid", key=str(ctx.id)))
        return [before, after, *paid]

    id = UUID(await api.user().start("collect"))
    await adrain(app)
    paths = [each.removeprefix("https://jobs.example.com") for each in URLS]
    for path, amount in zip(reversed(paths), (1, 2), strict=True):
        assert (await api.nobody.post(path, {"amount": amount})).status_code == 204
        await adrain(app)
    assert [(await api.nobody.post(path, {})).status_code for path in paths] == [410, 410]
    assert await output_of(app, id) == ["before", "after", {"amount": 1}, {"amount": 2}]
    names = [step.name for step in await app.engine.arun(StepsOf(id))]
    assert sorted(names).count("callback_url paid") == 2


async def test_what_was_called_back_with_before_names_were_apart_is_taken_once_all_the_same(
    api: Api, app: Penstock, connect: Connect
) -> None:
    id, path = await begun(api, app)
    connect().execute(
        "insert into penstock.steps (job, name, kind, done_at) values (%s, 'callback_url paid', 'callback', now())",
        [id],
    )
    assert (await api.nobody.post(path, {})).status_code == 410


async def test_a_step_with_a_name_of_penstocks_own_is_refused(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        await ctx.step("penstock.callback callback_url paid", str, 1)

    handle = await work.aenqueue()
    await adrain(app)
    assert "is one of Penstock's own: give the step another" in (await handle.arefresh()).errors[-1]["error"]


async def test_forged_and_late_ones_are_refused_and_change_nothing(api: Api, app: Penstock) -> None:
    id, path = await begun(api, app)
    other, others = await begun(api, app)
    token = path.rpartition("/")[2]
    now = int(time.time())
    made_up = [
        token[:-1] + ("A" if token[-1] != "A" else "E"),
        "A" + token[1:],
        token + "A",
        token + "=",
        "",
        "ж",
        "x" * 4000,
        make_token("another secret", Callback(id, "paid", "callback paid", now + 60)),
        make_token(SIGNED_BY, Callback(other, "paid", "callback paid", now + 60))[:40] + token[40:],
    ]
    for each in made_up:
        assert (await api.nobody.post(f"/api/callbacks/{each}", {"amount": 0})).status_code == 404, each
    late = make_token(SIGNED_BY, Callback(id, "paid", "callback paid", now - 1))
    assert (await api.nobody.post(f"/api/callbacks/{late}", {})).status_code == 410
    gone = make_token(SIGNED_BY, Callback(uuid4(), "paid", "callback paid", now + 60))
    assert (await api.nobody.post(f"/api/callbacks/{gone}", {})).status_code == 410
    for body, status in ((b"{", 422), (b"\xff", 422), (b"[" * 100_000, 413), (b'"' + b"x" * 1_100_000 + b'"', 413)):
        assert (await api.nobody("POST", path, content=body)).status_code == status, body[:9]
    assert await output_of(app, id) is None
    # that of another job tells that one
    assert (await api.nobody.post(others, "hers")).status_code == 204
    assert (await output_of(app, other), await output_of(app, id)) == ("hers", None)
    await app.jobs.acancel(id)
    assert (await api.nobody.post(path, {})).status_code == 410


async def test_with_a_secret_only_what_the_provider_signed_is_taken(
    api: Api, app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, path = await begun(api, app, secret="BANK")
    body = b'{"amount": 12}'
    signed = Signer(WEBHOOK_SECRET).headers("msg_1", body)
    stranger = Signer("whsec_" + base64.b64encode(b"t" * 32).decode()).headers("msg_1", body)
    old = Signer(WEBHOOK_SECRET).headers("msg_1", body, time.time() - 3600)
    for headers, sent in (({}, body), (stranger, body), (old, body), (signed, b'{"amount": 99}')):
        assert (await api.nobody("POST", path, content=sent, headers=headers)).status_code == 403
    monkeypatch.delenv("PENSTOCK_CALLBACK_SECRET_BANK")
    assert (await api.nobody("POST", path, content=body, headers=signed)).status_code == 503
    monkeypatch.setenv("PENSTOCK_CALLBACK_SECRET_BANK", f"whsec_{'b' * 40},{WEBHOOK_SECRET}")
    assert (await api.nobody("POST", path, content=body, headers=signed)).status_code == 204
    assert await output_of(app, id) == {"amount": 12}


def test_an_address_that_cannot_be_made_says_why(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"event": ""}, {"seconds": 0}, {"seconds": 1e12}, {"secret": "a b"}):
        given = {"event": "paid", "step": "callback", "seconds": 60.0, "secret": None, **wrong}
        with pytest.raises(InvalidInput):
            make_url(uuid4(), **given)  # type: ignore[arg-type]
    monkeypatch.delenv("PENSTOCK_PUBLIC_URL")
    with pytest.raises(PenstockError, match="PENSTOCK_PUBLIC_URL"):
        make_url(uuid4(), "paid", "callback", 60, None)
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://jobs.example.com")
    monkeypatch.delenv("PENSTOCK_SERVICE_KEY")
    with pytest.raises(PenstockError, match="PENSTOCK_SIGNING_SECRET"):
        make_url(uuid4(), "paid", "callback", 60, None)
