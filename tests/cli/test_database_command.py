from pathlib import Path
from uuid import uuid4

import msgspec
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Penstock, embedded
from tests.cli.conftest import Command


def test_migrate_creates_the_schema_and_may_be_run_again(homeless: Command, empty_url: str) -> None:
    [first] = homeless.lines("migrate", "--database-url", empty_url)
    assert first.startswith("schema penstock: applied 0001_")
    assert homeless.lines("migrate", "-d", empty_url) == ["schema penstock: is up to date"]
    with Penstock(empty_url) as app:
        assert app.jobs.list().jobs == []


def test_migrate_into_another_schema_as_json(homeless: Command, empty_url: str) -> None:
    homeless.environment["DATABASE_URL"] = empty_url
    done = homeless.json("migrate", "--schema", "jobs")
    assert (done["schema"], done["functions_replaced"]) == ("jobs", True)
    assert done["applied"][0].startswith("0001_")
    assert homeless.json("migrate", "--schema", "jobs") == {
        "schema": "jobs", "applied": [], "functions_replaced": False, "notices": [],
    }  # fmt: skip
    homeless.environment["PENSTOCK_SCHEMA"] = "jobs"
    assert homeless.lines("jobs", "list") == ["no jobs"]


@pytest.mark.root
def test_the_embedded_postgres_starts_tells_its_address_and_stops(homeless: Command) -> None:
    folder = Path(homeless.environment["PENSTOCK_FOLDER"] or "")
    assert homeless.fails("db", "url") == f"error: none is running under {folder}; start one with `penstock db start`\n"
    assert homeless.lines("db", "stop") == [f"none is running under {folder}"]
    try:
        started = homeless.json("db", "start")
        assert started == {"url": homeless.lines("db", "url")[0], "folder": str(folder)}
        assert homeless.json("db", "url") == {"url": started["url"]}
        again = homeless.lines("db", "start")
        assert again == [
            f"Postgres is running under {folder}",
            f'  export DATABASE_URL="$(penstock db url --folder {folder})"',
        ]
        with psycopg.connect(started["url"]) as connection:
            assert connection.execute("select 1").fetchall() == [(1,)]
        # it stays after a command that used it, which has migrated it too
        assert homeless.lines("jobs", "list") == ["no jobs"]
        assert embedded.running_url(folder) == started["url"]
    finally:
        stopped = homeless.lines("db", "stop")
    assert stopped == ["stopped"]
    assert embedded.running_url(folder) is None
    assert homeless.json("db", "stop") == {"stopped": False}
    # its data is still there, and whoever needs it starts it for as long as it takes
    assert homeless.lines("queues", "list") == ["no queues yet: a queue exists as soon as a job names it"]
    assert embedded.running_url(folder) is None


@pytest.mark.parametrize(
    "arguments", [["jobs", "list"], ["jobs", "purge", "-y"], ["queues", "list"], ["queues", "pause", "q"]]
)
def test_without_a_database_a_command_says_how_to_get_one(homeless: Command, arguments: list[str]) -> None:
    folder = homeless.environment["PENSTOCK_FOLDER"]
    message = (
        f"there is no DATABASE_URL and no embedded Postgres under {folder}; "
        "set DATABASE_URL, or start one with `penstock db start`"
    )
    assert homeless.fails(*arguments) == f"error: {message}\n"
    told = msgspec.json.decode(homeless.fails(*arguments, "--json"))
    assert told == {"error": message, "type": "PenstockError"}
    assert not Path(folder or "").exists()


def test_a_database_that_cannot_be_reached_is_told_in_one_line(homeless: Command, tmp_path: Path) -> None:
    for arguments in (["jobs", "list"], ["migrate"], ["queues", "pause", "q"]):
        complaint = homeless.fails(*arguments, "-d", f"host={tmp_path} dbname=x")
        assert complaint.startswith("error: ")
        assert "No such file or directory" in complaint
        assert complaint.count("\n") == 1


def test_an_address_that_is_none_is_told_in_one_line(homeless: Command) -> None:
    complaint = homeless.fails("jobs", "list", "-d", "nonsense")
    assert complaint.startswith("error: DATABASE_URL: is no address of a Postgres: write it as postgresql://user:")
    assert complaint.count("\n") == 1


def test_a_database_that_is_not_migrated_says_what_to_do(homeless: Command, empty_url: str) -> None:
    assert "run `penstock migrate`" in homeless.fails("jobs", "list", "-d", empty_url)


def test_what_the_database_forbids_is_told_in_one_line(homeless: Command, url: str) -> None:
    name = f"stranger_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create role {name} login password 'x'".encode())
        try:
            complaint = homeless.fails("jobs", "list", "-d", make_conninfo(url, user=name, password="x"))
        finally:
            connection.execute(f"drop role {name}".encode())
    assert complaint.startswith("error: permission denied for schema penstock")
    assert complaint.count("\n") == 1


def test_migrate_brings_the_tables_of_an_application_too(
    homeless: Command, empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "0001_books.sql").write_text("create table public.books (title text)")
    (tmp_path / "library.py").write_text(
        "from pathlib import Path\nfrom penstock import Penstock\n"
        "app = Penstock(schema='library')\napp.add_migrations('library', Path(__file__).parent / 'tables')\n"
    )
    monkeypatch.chdir(tmp_path)
    homeless.environment["DATABASE_URL"] = empty_url
    [told] = homeless.lines("migrate", "library:app")
    assert told.startswith("schema library: applied 0001_")
    assert told.endswith(", library 0001_books")
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("select * from books").fetchall() == []
    assert "schema: is chosen by library:app itself" in homeless.fails("migrate", "library:app", "--schema", "x")


def test_migrate_says_which_rights_are_missing(homeless: Command, empty_url: str) -> None:
    name = f"migrator_{uuid4().hex}"
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute(f"create role {name} login password 'x'".encode())
        connection.execute(f"grant create on database {connection.info.dbname} to {name}".encode())
        try:
            done = homeless("migrate", "-d", make_conninfo(empty_url, user=name, password="x"))
            again = homeless("migrate", "-d", make_conninfo(empty_url, user=name, password="x"))
        finally:
            connection.execute(f"drop owned by {name} cascade".encode())
            connection.execute(f"drop role {name}".encode())
    assert done.exit_code == 0
    assert f"notice: {name} may not act as authenticated: requests of users are refused" in done.stderr
    assert f"grant authenticated to {name}" in again.stderr
