"""Small things that tell or give away too much: names of files, secrets that are too short, answers that are kept."""

import asyncio
from contextlib import suppress

import pytest

from penstock import Context, Penstock
from penstock.artifact import NewArtifact, folder_of
from penstock.errors import InvalidInput
from penstock.job import new_job_id
from penstock.server import Server, ServerSettings
from penstock.server.files.headers import disposition
from penstock.server.files.zip import entry_names
from tests.kit.serving import KEY, SECRET
from tests.kit.working import working
from tests.server.api import Api, Asking, asking

DEVICES = ["CON", "nul.txt", "Aux.pdf", "com1", "LPT9.tar.gz", "con .txt"]


@pytest.mark.parametrize("turn", ["\u202e", "\u202a", "\u2066", "\u2069"])
def test_names_that_turn_around_are_neither_stored_nor_handed_out(turn: str) -> None:
    name = f"invoice{turn}cod.exe"
    with pytest.raises(InvalidInput, match="direction"):
        NewArtifact.of("alice", new_job_id(), name)
    assert entry_names([name]) == ["invoice_cod.exe"]
    assert "invoice_cod.exe" in disposition(name)
    assert "%E2%80" not in disposition(name)
    assert "%E2%81" not in disposition(name)


@pytest.mark.parametrize("name", DEVICES)
def test_names_of_devices_are_none_in_archives_and_downloads(name: str) -> None:
    assert entry_names([f"made/{name}"]) == [f"made/_{name}"]
    assert f'filename="_{name}"' in disposition(name)


def test_names_that_only_begin_like_a_device_stay() -> None:
    names = ["console.txt", "null.pdf", "comic.pdf", "contract.pdf"]
    assert entry_names(names) == names


def test_whoever_has_a_long_name_has_a_folder_too() -> None:
    long, other = "ü" * 100, "ü" * 99 + "ö"
    assert folder_of(long) != folder_of(other)
    assert len(folder_of(long)) < 200
    assert folder_of(folder_of(long)) != folder_of(long)
    assert NewArtifact.of(long, new_job_id(), "a.pdf").path.startswith(folder_of(long) + "/")


def test_a_short_signing_secret_is_refused() -> None:
    with pytest.raises(InvalidInput, match="signing_secret"):
        Server(Penstock("postgresql:///x"), ServerSettings(service_key=KEY, signing_secret="x"))


async def test_what_a_user_reads_is_kept_by_no_cache(alice: Asking, anonymous: Asking) -> None:
    for path in ("/api/jobs", "/api/kinds", "/api/usage", "/api/jobs/0198c5a0-0000-7000-8000-000000000000"):
        for who in (alice, anonymous):
            assert "private" in (await who.get(path)).headers["cache-control"]


async def test_a_running_job_is_asked_to_stop_and_not_called_cancelled(app: Penstock, api: Api) -> None:
    running, finish = asyncio.Event(), asyncio.Event()

    @app.job(users=True)
    async def stubborn(ctx: Context) -> str:
        running.set()
        while not finish.is_set():
            with suppress(asyncio.CancelledError):
                await finish.wait()
        return "done all the same"

    alice = api.user("alice")
    async with working(app):
        id = await alice.start("stubborn")
        await running.wait()
        answer = (await alice.delete(f"/api/jobs/{id}")).json()
        finish.set()
    assert answer == {"id": id, "state": "running", "cancel_requested": True}


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_shared_file_is_deleted_by_its_owner_unless_members_may(app: Penstock, allowed: bool) -> None:
    settings = ServerSettings(service_key=KEY, jwt_secret=SECRET, members_delete=allowed)
    async with asking(app, settings) as api:
        shared = await app.artifacts.aput("shared.txt", b"x", owner="alice", org="acme")
        of_all = await app.artifacts.aput("of-all.txt", b"x", org="acme")
        bob = api.user("bob", org="acme")
        answer = await bob.delete(f"/api/artifacts/{shared.id}")
        assert answer.status_code == (204 if allowed else 403)
        assert (await bob.delete(f"/api/artifacts/{of_all.id}")).status_code == 204
        if not allowed:
            assert (await api.user("alice").delete(f"/api/artifacts/{shared.id}")).status_code == 204
