"""The fixtures that pytest finds in any project that has Penstock installed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import psycopg
import pytest

from penstock import embedded

SHOP = """
from penstock import Penstock

app = Penstock("postgresql://nobody@127.0.0.1:1/nothing")
charged = []


@app.job
def charge(amount: int) -> int:
    charged.append(amount)
    return amount
"""

TESTS = """
from datetime import timedelta

import psycopg
import pytest
import shop
from penstock.testing import adrain, drain, run_inline


@pytest.fixture(autouse=True)
def nothing_charged():
    shop.charged.clear()


def test_inline():
    assert run_inline(shop.charge, 5).output == 5


@pytest.mark.parametrize("n", range(4))
def test_each_has_a_database_of_its_own(penstock_database, n):
    app = penstock_database.use(shop.app)
    assert list(app.jobs.each()) == []
    shop.charge.enqueue(n)
    assert [result.state for result in drain(app)] == ["succeeded"]
    assert shop.charged == [n]


def test_the_address_is_a_url(penstock_url):
    assert penstock_url.startswith("postgresql://")
    with psycopg.connect(penstock_url) as connection:
        assert connection.execute("select count(*) from penstock.jobs").fetchone() == (0,)


def test_the_clock_is_that_of_the_app_s_database(penstock_database, penstock_clock):
    penstock_database.use(shop.app)
    job = shop.charge.using(delay=3600).enqueue(1)
    assert drain(shop.app) == []
    penstock_clock.move(hours=1)
    assert len(drain(shop.app)) == 1
    shop.charge.using(delay=3600).enqueue(2)
    assert len(drain(shop.app, until_idle=True)) == 1
    assert job.refresh().finished_at == penstock_clock.now - timedelta(hours=1)


def test_async(penstock_database):
    import asyncio

    async def body():
        penstock_database.use(shop.app)
        await shop.charge.aenqueue(3)
        assert len(await adrain(shop.app)) == 1

    asyncio.run(body())


def test_afterwards_the_app_is_where_it_was(penstock_database):
    before = shop.app.url()
    penstock_database.use(shop.app)
    penstock_database.use(shop.app)
    assert shop.app.url() == penstock_database.url
    penstock_database.give_back()
    assert shop.app.url() == before == "postgresql://nobody@127.0.0.1:1/nothing"
"""


OTHERS = " ".join(f"-p no:{plugin}" for plugin in ("asyncio", "hypothesispytest", "schemathesis"))
"""What is installed here for our own tests, and takes a pytest 0.7 of its 1.3 s to load."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\npythonpath = .\naddopts = {OTHERS}\n")
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def _run_pytest(project: Path, tests: str, *options: str, **environment: str) -> str:
    (project / "test_it.py").write_text(dedent(tests))
    kept = ("PATH", "HOME", "PENSTOCK_PG_BIN", "TMPDIR", "LANG")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=project,
        env={name: os.environ[name] for name in kept if name in os.environ} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_fresh_project_on_a_server_that_is_named(project: Path, server: str, workers: str) -> None:
    printed = _run_pytest(project, TESTS, "-n", workers, PENSTOCK_TEST_URL=server)
    assert "9 passed" in printed
    assert not list((project / ".pytest_cache").glob("d/penstock*"))


def test_the_databases_are_gone_afterwards(project: Path, server: str) -> None:
    noted = project / "noted"
    tests = """
        from pathlib import Path

        def test_note(penstock_url):
            Path("noted").write_text(penstock_url)
    """
    _run_pytest(project, tests, PENSTOCK_TEST_URL=server)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(noted.read_text())


def test_without_one_the_workers_of_a_run_share_an_embedded_server_that_is_stopped_after_it(project: Path) -> None:
    tests = """
        import os
        import time
        from pathlib import Path

        import psycopg

        def test_note(penstock_server, penstock_url):
            Path(f"server-{os.getpid()}").write_text(penstock_server)
            while len(list(Path().glob("server-*"))) < 2:  # until the other worker has come
                time.sleep(0.01)
            with psycopg.connect(penstock_url) as connection:
                connection.execute("select penstock.clock()")
    """
    printed = _run_pytest(project, tests, "-n", "2", "--dist", "each")
    assert "2 passed" in printed
    assert len({file.read_text() for file in project.glob("server-*")}) == 1
    [home] = (project / ".pytest_cache" / "d" / "penstock").iterdir()
    assert embedded.running_url(home) is None


def test_it_works_without_pytest_s_cache(project: Path) -> None:
    tests = """
        def test_it(penstock_url): ...
    """
    _run_pytest(project, tests, "-p", "no:cacheprovider")
    assert not (project / ".pytest_cache").exists()
    assert (project / ".penstock-tests").exists()


def test_a_project_that_does_not_use_it_does_not_notice(project: Path) -> None:
    tests = """
        import sys

        def test_nothing_of_it_is_imported():
            assert "pytest_penstock" in sys.modules
            assert not {"penstock", "psycopg", "msgspec"} & sys.modules.keys()
    """
    _run_pytest(project, tests)
    assert not list(project.glob("**/*penstock*"))


def test_the_fixtures_are_explained(project: Path) -> None:
    printed = _run_pytest(project, "def test_it(): ...", "--fixtures")
    explained = set(re.findall(r"^(penstock_\w+).*\n    \S", printed, re.MULTILINE))
    assert explained == {
        "penstock_server", "penstock_template", "penstock_url", "penstock_database", "penstock_clock",
    }  # fmt: skip


def test_pytest_is_no_dependency_of_the_test_kit() -> None:
    program = """if True:
        import sys
        import penstock.testing, penstock.testing.database, penstock.cli
        assert "pytest" not in sys.modules"""
    subprocess.run([sys.executable, "-c", program], check=True)
