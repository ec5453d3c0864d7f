"""rediss://: what is sent is encrypted, and who has it is checked."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from penstock import Penstock, PenstockError
from penstock.engine.bullmq.address import Address
from penstock.errors import InvalidInput
from tests.kit.certificates import certified
from tests.kit.redis import fresh_redis, redis_server
from tests.kit.tls import encrypted
from tests.kit.working import working

PASSWORD = "hunter2-is-no-secret"


@dataclass(frozen=True)
class Server:
    port: int
    certificate: Path

    def url(self, host: str = "localhost", user: str = "", **query: str) -> str:
        prefix = fresh_redis().partition("?prefix=")[2]
        return f"rediss://{user}{host}:{self.port}/0?{urlencode({'prefix': prefix, **query})}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tls")
    context, _ = certified("localhost", folder)
    with encrypted(int(Address.of(redis_server()).shown.partition(":")[2].partition("/")[0]), context) as port:
        yield Server(port, folder / "certificate.pem")


async def test_jobs_run_over_tls(server: Server) -> None:
    async with Penstock(server.url(ssl_ca_certs=str(server.certificate))) as app:

        @app.job
        async def greet(name: str) -> str:
            return f"hello {name}"

        job = await greet.aenqueue("Ada")
        async with working(app):
            assert await job.aresult(timeout=60) == "hello Ada"


@pytest.mark.parametrize(
    ("host", "trusts", "said"),
    [("localhost", False, "self-signed certificate"), ("127.0.0.1", True, "not valid for '127.0.0.1'")],
    ids=["unknown", "another host"],
)
def test_a_certificate_that_is_not_trusted_is_refused_at_once(
    server: Server, host: str, trusts: bool, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    query = {"ssl_ca_certs": str(server.certificate)} if trusts else {}
    with (
        caplog.at_level(logging.DEBUG),
        Penstock(server.url(host, f"ada:{PASSWORD}@", **query), database_timeout=600) as app,
        pytest.raises(PenstockError, match="ssl_ca_certs") as refused,
    ):
        app.queues.list()
    assert said in str(refused.value)
    assert PASSWORD not in f"{refused.value!r} {refused.value.__cause__!r} {app.engine!r} {caplog.text}"


async def test_a_worker_that_is_refused_does_not_start(server: Server) -> None:
    async with Penstock(server.url()) as app:
        app.job(kind="work")(lambda: None)
        with pytest.raises(PenstockError, match="ssl_ca_certs"):
            await app.worker().run()


def test_so_is_a_wrong_password_and_a_file_that_is_not_there(server: Server) -> None:
    wrong = server.url(user=f"ada:{PASSWORD}@", ssl_ca_certs=str(server.certificate))
    nowhere = server.url(ssl_ca_certs=str(server.certificate.with_name("nowhere.pem")))
    for url, said in ((wrong, "refuses the user or the password"), (nowhere, "cannot be read")):
        with Penstock(url, database_timeout=600) as app, pytest.raises(PenstockError, match=said) as refused:
            app.queues.list()
        assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("query", [{"ssl_cert_reqs": "perhaps"}, {"colour": "red"}], ids=["value", "name"])
def test_what_the_address_says_is_understood_or_refused(server: Server, query: dict[str, str]) -> None:
    with Penstock(server.url(**query)) as app, pytest.raises(InvalidInput, match="url"):
        app.queues.list()
