"""A deploy and a rollback: for a while programs of two versions work on one database, whichever of them migrated it.

`previous/` has the version before as a wheel. It is built from its commit when a version is released
(`make previous-release`), and stays until the next one is.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import Penstock
from penstock.errors import NotMigrated, ProgramTooOld
from penstock.sql.contract import COMMENT, CONTRACT, check
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY

HERE = Path(__file__).parent
PROGRAM = HERE / "program.py"
NOW = HERE.parent.parent

Code = dict[str, Path]
Run = Callable[..., Any]
Serving = Callable[[str, str], AbstractContextManager[str]]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Code:
    """Where the packages of each version are."""
    previous = tmp_path_factory.mktemp("previous")
    [wheel] = (HERE / "previous").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(previous)
    return {"previous": previous, "now": NOW}


@pytest.fixture(scope="module")
def run(code: Code) -> Run:
    """Runs the program in a version: run("previous", url, "work")."""

    def run(version: str, url: str, what: str, **environment: str) -> Any:
        ended = subprocess.run(
            [sys.executable, str(PROGRAM), url, what], env=_environment(code[version]) | environment,
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        answer = json.loads(ended.stdout.splitlines()[-1])
        assert Path(answer["from"]).is_relative_to(code[version])
        return answer["said"]

    return run


@pytest.fixture(scope="module")
def serving(code: Code) -> Serving:
    """The API of a version, and its address: serving("previous", url)."""

    @contextmanager
    def serving(version: str, url: str) -> Iterator[str]:
        program = subprocess.Popen(
            [sys.executable, str(PROGRAM), url, "serve"], env=_environment(code[version]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert program.stdout
            yield f"http://127.0.0.1:{int(program.stdout.readline())}"
        finally:
            program.communicate("", timeout=60)

    return serving


def _environment(code: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(code), "PENSTOCK_SERVICE_KEY": KEY}


def _make_table(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table made (number int)")


@pytest.mark.parametrize(("enqueuer", "worker"), [("previous", "now"), ("now", "previous")])
def test_programs_of_two_versions_share_a_database(run: Run, url: str, enqueuer: str, worker: str) -> None:
    _make_table(url)
    jobs = run(enqueuer, url, "enqueue")
    assert run(worker, url, "work") == len(jobs)
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            """select count(*), count(*) filter (where attempt = 2),
                      count(*) filter (where progress->>'message' = 'half-way')
                 from penstock.all_jobs where state = 'succeeded'"""
        ).fetchone()
        assert rows == (len(jobs), 6, len(jobs))
        assert connection.execute("select count(*) from made").fetchone() == (2,)


def test_a_worker_of_the_version_before_works_over_a_new_server(run: Run, serving: Serving, url: str) -> None:
    jobs = run("now", url, "enqueue")
    with serving("now", url) as api:
        assert run("previous", url, "work", API=api) == len(jobs)


def test_a_server_of_the_version_before_has_the_new_worker_or_the_worker_says_what_to_do(
    code: Code, run: Run, serving: Serving, empty_url: str
) -> None:
    """Workers are upgraded last. Whoever has it wrong is told before a job is taken, unless nothing new is needed."""
    run("previous", empty_url, "migrate")
    jobs = run("previous", empty_url, "enqueue")
    with serving("previous", empty_url) as api:
        if (code["previous"] / "penstock" / "engine" / "http" / "contract.py").exists():
            assert run("now", empty_url, "work", API=api) == len(jobs)
        else:
            with pytest.raises(AssertionError, match="upgrade Penstock on the server, and only then on its workers"):
                run("now", empty_url, "work", API=api)
            with psycopg.connect(empty_url) as connection:
                left = connection.execute("select max(attempt), count(*) from penstock.jobs").fetchone()
            assert left == (0, len(jobs)), "no job was touched"


def test_before_the_schema_is_migrated_the_new_version_works_on_it_or_says_what_to_do(run: Run, empty_url: str) -> None:
    """The order of a deploy is to migrate first. Whoever has it wrong is told, unless nothing new is needed."""
    run("previous", empty_url, "migrate")
    _make_table(empty_url)
    if run("previous", empty_url, "contract") == CONTRACT:
        jobs = run("now", empty_url, "enqueue")
        assert run("now", empty_url, "work") == len(jobs)
    else:
        for what in ("enqueue", "work"):
            with pytest.raises(AssertionError, match="run `penstock migrate`, and only then start programs of the new"):
                run("now", empty_url, what)


def _functions(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select oid::regprocedure::text from pg_proc where pronamespace = 'penstock'::regnamespace"
        )
        return {name for (name,) in found}


def test_the_next_migrate_takes_the_previous_schema_along(run: Run, empty_url: str, url: str) -> None:
    run("previous", empty_url, "migrate")
    _make_table(empty_url)
    jobs = run("previous", empty_url, "enqueue")
    run("now", empty_url, "migrate")
    assert _functions(empty_url) == _functions(url), "a migration drops what is called in another way now"
    assert run("now", empty_url, "work") == len(jobs)
    with psycopg.connect(empty_url) as connection:
        [told] = connection.execute("select obj_description('penstock'::regnamespace, 'pg_namespace')").fetchone() or [
            ""
        ]
    assert told == COMMENT


def test_a_schema_that_is_too_old_or_too_new_is_told_in_one_line_with_what_to_do() -> None:
    check("penstock", COMMENT)
    check("penstock", None)
    check("penstock", "our own notes about this schema")
    with pytest.raises(NotMigrated, match=f"of contract 0, and this program needs {CONTRACT}: run `penstock migrate`"):
        check("penstock", "Penstock, contract 0, serves programs from contract 0")
    check("penstock", "Penstock, contract 99, serves programs from contract 1")
    with pytest.raises(ProgramTooOld, match=r"serves programs from contract 98, .* upgrade Penstock"):
        check("penstock", "Penstock, contract 99, serves programs from contract 98")


async def test_every_way_in_looks_at_the_contract(url: str, connect: Connect) -> None:
    connect().execute("comment on schema penstock is 'Penstock, contract 99, serves programs from contract 98'")
    async with Penstock(url) as app:

        @app.job
        def work() -> None: ...

        with pytest.raises(ProgramTooOld):
            work.enqueue()
        with pytest.raises(ProgramTooOld):
            await work.aenqueue()
        with pytest.raises(ProgramTooOld):
            await app.run_worker()
