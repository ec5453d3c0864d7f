"""DATABASE_URL leads to a standby: each program says so in one line, with what to do."""

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest
from typer.testing import CliRunner
from uvicorn import Config
from uvicorn.lifespan.on import LifespanOn

from penstock import DatabaseReadOnly, Penstock
from penstock.cli.commands import cli
from tests.kit.serving import KEY
from tests.kit.standby import Pair

WHAT_TO_DO = "target_session_attrs=read-write"


@pytest.fixture
def app(pair: Pair) -> Iterator[Penstock]:
    with Penstock(pair.standby.url) as app:

        @app.job
        async def work() -> None: ...

        yield app


@pytest.mark.parametrize(
    "command", ["migrate", "enqueue work", "tick {app}", "worker {app}", "server {app}", "queues pause default"]
)
def test_programs_say_what_to_do(pair: Pair, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("on_a_standby.py").write_text(
        "import penstock\napp = penstock.Penstock()\n@app.job\ndef work() -> None: ...\n"
    )
    environment = {"DATABASE_URL": pair.standby.url, "PENSTOCK_SERVICE_KEY": KEY, "COLUMNS": "200"}
    done = CliRunner().invoke(cli, command.format(app="on_a_standby.py:app").split(), env=environment)
    told = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert (done.exit_code, len(told), done.stderr.count("Traceback")) == (1, 1, 0), done.stderr
    assert WHAT_TO_DO in told[0]


def test_the_doctor_finds_it(pair: Pair) -> None:
    done = CliRunner().invoke(cli, ["doctor", "--json"], env={"DATABASE_URL": pair.standby.url})
    [found] = msgspec.json.decode(done.stdout)["findings"]
    assert (done.exit_code, found["about"], "standby" in found["text"]) == (1, "connection", True)
    assert WHAT_TO_DO in found["do"]


async def test_a_server_in_another_program_says_so_without_a_traceback(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    lifespan = LifespanOn(Config(app.asgi(service_key=KEY), lifespan="on"))
    caplog.set_level(logging.ERROR)
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)
    await lifespan.startup()
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert lifespan.should_exit
    [told] = {each.getMessage() for each in caplog.records if each.name == "uvicorn.error" and each.levelno >= 40} - {
        "Application startup failed. Exiting."
    }
    assert WHAT_TO_DO in told
    assert "Traceback" not in told


def test_it_is_the_driver_s_error_too(app: Penstock) -> None:
    """Workers wait for whatever passes, a database without a leader among it."""
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as refused:
        app.handler("work").enqueue()
    assert isinstance(refused.value, DatabaseReadOnly)
