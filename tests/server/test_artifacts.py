"""Artifacts over HTTP: metadata, links that are signed and expire, bytes, ranges, and who may have them."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import pytest
from psycopg.errors import InsufficientPrivilege

from penstock import Penstock
from penstock.artifact import Artifact
from penstock.server.files.headers import disposition
from penstock.storage import store_at
from penstock.storage.links import Links
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.server.api import Api
from tests.server.making import make_handler, stored
from tests.storage.conftest import seaweed as seaweed
from tests.storage.seaweed import Seaweed

CONTENTS = bytes(range(256)) * 40


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path / "files") as app:
        yield app


@pytest.fixture
async def artifact(app: Penstock) -> Artifact:
    return await stored(app, "papers/résumé 1.pdf", CONTENTS, duration=3, metadata={"pages": 2})


async def link(api: Api, artifact: Artifact) -> str:
    """One that counts, as the status of a job has it."""
    answer = await api.service.get(f"/api/jobs/{artifact.job}")
    [shown] = answer.json()["artifacts"]
    url: str = shown["url"]
    return url


def expire(connect: Connect, artifact: Artifact) -> None:
    connect().execute("update penstock.artifacts set expires_at = now() - interval '1 s' where id = %s", [artifact.id])


async def downloads(app: Penstock, artifact: Artifact) -> int:
    found = await app.artifacts.aget(artifact.id)
    assert found is not None
    return found.downloads


# What it is.


async def test_the_owner_sees_what_an_artifact_is(api: Api, artifact: Artifact) -> None:
    answer = await api.user("alice").get(f"/api/artifacts/{artifact.id}")
    assert answer.status_code == 200
    shown = answer.json()
    assert {name: shown[name] for name in ("id", "job", "type", "name", "content_type", "size", "duration")} == {
        "id": str(artifact.id), "job": str(artifact.job), "type": "pdf", "name": "papers/résumé 1.pdf",
        "content_type": "application/pdf", "size": len(CONTENTS), "duration": 3,
    }  # fmt: skip
    assert shown["metadata"] == {"pages": 2}
    assert shown["digest"] == hashlib.sha256(CONTENTS).hexdigest()
    assert (shown["downloads"], shown["expires_at"], shown["owner"]) == (0, None, "alice")
    assert "path" not in shown


async def test_the_status_of_a_job_has_a_link_to_each_artifact(api: Api, artifact: Artifact) -> None:
    answer = await api.user("alice").get(f"/api/jobs/{artifact.job}")
    [shown] = answer.json()["artifacts"]
    assert {name: shown[name] for name in ("id", "type", "duration", "name", "size", "content_type")} == {
        "id": str(artifact.id), "type": "pdf", "duration": 3, "name": "papers/résumé 1.pdf", "size": len(CONTENTS),
        "content_type": "application/pdf",
    }  # fmt: skip
    assert (await api.nobody.get(shown["url"])).content == CONTENTS


async def test_members_of_the_organisation_see_it_too(api: Api, app: Penstock) -> None:
    artifact = await stored(app, "a.pdf", b"x", org="acme")
    assert (await api.user("bob", org="acme").get(f"/api/artifacts/{artifact.id}")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("GET", "/download"), ("GET", "/download?format=json"), ("DELETE", "")]
)
async def test_another_user_is_told_the_same_as_of_what_does_not_exist(
    api: Api, app: Penstock, artifact: Artifact, method: str, path: str
) -> None:
    bob = api.user("bob", org="other")
    refused = await bob(method, f"/api/artifacts/{artifact.id}{path}")
    unknown = await bob(method, f"/api/artifacts/{uuid4()}{path}")
    assert refused.status_code == unknown.status_code == 404
    assert refused.json() == unknown.json()
    assert (await api.nobody(method, f"/api/artifacts/{artifact.id}{path}")).status_code == 401
    assert await downloads(app, artifact) == 0


async def test_by_direct_sql_users_read_their_own_and_change_nothing(
    app: Penstock, artifact: Artifact, connect: Connect
) -> None:
    connection = connect()
    for subject, sees in (("alice", 1), ("bob", 0)):
        with connection.transaction():
            claims = f'{{"sub": "{subject}", "role": "authenticated"}}'
            connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])
            connection.execute("set local role authenticated")
            assert len(connection.execute("select from penstock.artifacts").fetchall()) == sees
            found = connection.execute("select from penstock.artifacts_of_job(%s)", [artifact.job]).fetchall()
            assert len(found) == sees
    for statement in (
        "update penstock.artifacts set downloads = 9", "delete from penstock.artifacts",
        "select penstock.remove_artifacts(array[]::uuid[])", "select penstock.adopt_orphan('x')",
        "select penstock.count_downloads(array[]::uuid[])", "select penstock.stale_artifacts('0', null, 1)",
    ):  # fmt: skip
        with pytest.raises(InsufficientPrivilege):
            connection.execute(b"begin; set local role authenticated; " + statement.encode())
        connection.execute("rollback")


# Links.


async def test_a_download_leads_to_the_file_and_is_counted_once(api: Api, app: Penstock, artifact: Artifact) -> None:
    answer = await api.user("alice").get(f"/api/artifacts/{artifact.id}/download")
    assert answer.status_code == 307
    assert (await api.nobody.get(answer.headers["location"])).content == CONTENTS
    assert await downloads(app, artifact) == 1


async def test_a_download_may_be_asked_for_as_json(api: Api, app: Penstock, artifact: Artifact) -> None:
    answer = await api.user("alice").get(f"/api/artifacts/{artifact.id}/download?format=json")
    assert answer.status_code == 200
    assert (await api.nobody.get(answer.json()["url"])).content == CONTENTS
    expires = parse_qs(urlsplit(answer.json()["url"]).query)["expires"][0]
    assert abs(int(expires) - time.time() - 3600) < 60
    assert answer.json()["expires_at"].endswith("Z")
    assert await downloads(app, artifact) == 1


async def test_a_link_that_is_given_on_counts_each_download(api: Api, app: Penstock, artifact: Artifact) -> None:
    url = await link(api, artifact)
    for number in (1, 2):
        assert (await api.nobody.get(url)).status_code == 200
        assert await downloads(app, artifact) == number
    assert (await api.nobody("HEAD", url)).status_code == 200
    etag = (await api.nobody("HEAD", url)).headers["etag"]
    assert (await api.nobody.get(url, headers={"If-None-Match": etag})).status_code == 304
    assert await downloads(app, artifact) == 2


async def test_a_changed_link_is_refused(api: Api, app: Penstock, artifact: Artifact) -> None:
    other = await stored(app, "b.pdf", b"another")
    url = await link(api, artifact)
    signature = parse_qs(urlsplit(url).query)["signature"][0]
    expires = parse_qs(urlsplit(url).query)["expires"][0]
    for changed in (
        url.replace(str(artifact.id), str(other.id)),
        url.replace(expires, str(int(expires) + 1)),
        url.replace(signature, signature[:-1] + ("0" if signature[-1] != "0" else "1")),
        url.replace(signature, signature.upper()),
        url.replace(signature, "é" * 64),
        url.replace(signature, ""),
        Links("another secret", "http://test").make(artifact.id, int(expires)),
    ):
        answer = await api.nobody.get(changed)
        assert answer.status_code == 403, changed
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await api.nobody.get(url.partition("?")[0])).status_code == 422


async def test_an_expired_link_is_gone(api: Api, artifact: Artifact) -> None:
    links = Links.derived_from(None, KEY, "http://test")
    assert links is not None
    assert (await api.nobody.get(links.make(artifact.id, int(time.time()) + 60))).status_code == 200
    assert (await api.nobody.get(links.make(artifact.id, int(time.time()) - 1))).status_code == 410


async def test_an_expired_artifact_is_gone_also_by_a_link_from_before(
    api: Api, app: Penstock, artifact: Artifact, connect: Connect
) -> None:
    url = await link(api, artifact)
    expire(connect, artifact)
    alice = api.user("alice")
    for answer in (
        await api.nobody.get(url),
        await alice.get(f"/api/artifacts/{artifact.id}"),
        await alice.get(f"/api/artifacts/{artifact.id}/download"),
    ):
        assert answer.status_code == 410
    assert (await alice.get(f"/api/jobs/{artifact.job}")).json()["artifacts"] == []
    await app.artifacts.asweep()
    assert (await api.nobody.get(url)).status_code == 404


async def test_a_link_lives_no_longer_than_its_artifact(api: Api, app: Penstock) -> None:
    artifact = await stored(app, "a", b"x", expires_in=60)
    expires = int(parse_qs(urlsplit(await link(api, artifact)).query)["expires"][0])
    assert artifact.expires_at is not None
    assert expires <= artifact.expires_at.timestamp()


async def test_a_file_that_somebody_took_away_is_not_found(api: Api, app: Penstock, artifact: Artifact) -> None:
    await app.artifacts.store.adelete(artifact.path)
    answer = await api.nobody.get(await link(api, artifact))
    assert answer.status_code == 404
    assert artifact.path not in answer.text


def test_the_secret_is_told_by_nobody() -> None:
    links = Links.derived_from("top secret", None, None)
    assert "top secret" not in repr(links)
    derived = Links.derived_from(None, "the service key", "http://test")
    assert derived is not None
    assert derived.make(uuid4(), 1) != Links("the service key", "http://test").make(uuid4(), 1)


async def test_on_s3_a_download_leads_to_the_store_itself(
    api: Api, app: Penstock, seaweed: Seaweed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.artifacts.storage, "_store", store_at(seaweed.address(uuid4().hex)))
    artifact = await stored(app, "é.pdf", CONTENTS)
    answer = await api.user("alice").get(f"/api/artifacts/{artifact.id}/download")
    location = answer.headers["location"]
    assert (answer.status_code, location.startswith(seaweed.endpoint)) == (307, True)
    async with httpx.AsyncClient() as client:
        fetched = await client.get(location)
        assert (fetched.status_code, fetched.content) == (200, CONTENTS)
        assert fetched.headers["content-type"] == "application/pdf"
        assert (await client.get(location[:-1] + ("0" if location[-1] != "0" else "1"))).status_code == 403
    assert await downloads(app, artifact) == 1
    assert (await api.user("alice").delete(f"/api/artifacts/{artifact.id}")).status_code == 204
    assert [found async for found in app.artifacts.store.alist()] == []


# Bytes.


async def test_the_file_comes_with_honest_and_safe_headers(api: Api, artifact: Artifact) -> None:
    answer = await api.nobody.get(await link(api, artifact))
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-length"] == str(len(CONTENTS))
    assert answer.headers["etag"] == f'"{artifact.digest}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"r_sum_ 1.pdf\"; filename*=UTF-8''r%C3%A9sum%C3%A9%201.pdf"
    )


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=10000-", 10000, 10240), ("bytes=-5", 10235, 10240),
        ("bytes=10200-99999", 10200, 10240), ("bytes=-99999", 0, 10240),
    ],
)  # fmt: skip
async def test_a_part_may_be_asked_for(api: Api, artifact: Artifact, asked: str, start: int, end: int) -> None:
    answer = await api.nobody.get(await link(api, artifact), headers={"Range": asked})
    assert (answer.status_code, answer.content) == (206, CONTENTS[start:end])
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENTS)}"
    assert answer.headers["content-length"] == str(end - start)


@pytest.mark.parametrize("asked", ["bytes=10240-", "bytes=99999-100000", "bytes=-0"])
async def test_a_part_after_the_end_is_refused(api: Api, artifact: Artifact, asked: str) -> None:
    answer = await api.nobody.get(await link(api, artifact), headers={"Range": asked})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */10240")


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "bytes=5-2", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=١-٢"])
async def test_a_range_that_is_none_gives_the_whole(api: Api, artifact: Artifact, asked: str) -> None:
    answer = await api.nobody.get(await link(api, artifact), headers={"Range": asked.encode()})
    assert (answer.status_code, len(answer.content)) == (200, len(CONTENTS))


async def test_a_part_of_another_version_gives_the_whole(api: Api, artifact: Artifact) -> None:
    url = await link(api, artifact)
    same = {"Range": "bytes=0-1", "If-Range": f'"{artifact.digest}"'}
    assert (await api.nobody.get(url, headers=same)).status_code == 206
    assert (await api.nobody.get(url, headers=same | {"If-Range": '"old"'})).status_code == 200


async def test_an_empty_file_is_an_empty_answer(api: Api, app: Penstock) -> None:
    artifact = await stored(app, "empty.txt", b"")
    answer = await api.nobody.get(await link(api, artifact))
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "0")


@pytest.mark.parametrize(
    "name",
    ['a"; filename="evil.exe', "a\r\nSet-Cookie: x=1", "a\x00b", "../../etc/passwd", "\\\\host\\share", "\ud800", ""],
)
def test_no_name_breaks_out_of_its_header(name: str) -> None:
    header = disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    assert header.count(";") == 2
    assert "/" not in header
    assert "\\" not in header
    header.encode("latin-1")


async def test_whoever_may_see_it_may_delete_it(api: Api, app: Penstock, artifact: Artifact, tmp_path: Path) -> None:
    url = await link(api, artifact)
    assert (await api.user("alice").delete(f"/api/artifacts/{artifact.id}")).status_code == 204
    assert (await api.user("alice").delete(f"/api/artifacts/{artifact.id}")).status_code == 404
    other = await stored(app, "other.pdf", CONTENTS)
    assert await app.audit.alist() == []
    assert (await api.service.delete(f"/api/artifacts/{other.id}")).status_code == 204
    [line] = await app.audit.alist()
    assert (line.who, line.action, line.details["filter"]) == (
        "the service key", "delete_artifacts", {"ids": [str(other.id)]},
    )  # fmt: skip
    assert await app.artifacts.aget(other.id) is None
    assert (await api.nobody.get(url)).status_code == 404
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []


async def test_a_user_downloads_what_a_job_of_theirs_has_made_while_others_are_at_it(api: Api, app: Penstock) -> None:
    make_handler(app)
    artifacts = [await stored(app, f"{n}.bin", bytes([n]) * 100_000) for n in range(5)]
    urls = [await link(api, each) for each in artifacts]
    answers = await asyncio.gather(*(api.nobody.get(url) for url in urls for _ in range(4)))
    assert [answer.content[:1] for answer in answers] == [bytes([n]) for n in range(5) for _ in range(4)]
