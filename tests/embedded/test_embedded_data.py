"""The data: kept between runs, made whole, and not given to a Postgres that cannot read it."""

import stat
from pathlib import Path

import pytest

from penstock import embedded
from penstock.embedded.folder import LINES_IN_AN_ERROR, Layout, last_lines, trim

from .users import ask, tell

pytestmark = pytest.mark.root


def test_data_stays_between_runs(own_folder: Path) -> None:
    with embedded.start(own_folder) as postgres:
        tell(postgres.url, "create table kept as select 42 as n")
    with embedded.start(own_folder) as again:
        assert again.url == postgres.url
        assert ask(again.url, "select n from kept") == 42


def test_a_new_server_is_set_up_for_penstock(fresh: Path) -> None:
    with embedded.start(fresh) as postgres:
        assert ask(postgres.url, "select current_user || '@' || current_database()") == "penstock@penstock"
        assert ask(postgres.url, "show server_encoding") == "UTF8"
        assert ask(postgres.url, "select datcollate from pg_database where datname = 'penstock'") == "C"
        assert ask(postgres.url, "show max_connections") == "200"
        assert ask(postgres.url, "show fsync") == "on"
        assert ask(postgres.url, "select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256'") == 0
        # our password is random, and hashing it takes most of the time of connecting; those of others are theirs
        assert ask(postgres.url, "select rolpassword ~ '^SCRAM-SHA-256[$]1:' from pg_authid where rolcanlogin")
        assert ask(postgres.url, "show scram_iterations") == "4096"
    assert stat.S_IMODE(fresh.stat().st_mode) & 0o066 == 0, "others may not look into the folder"
    assert (fresh / ".gitignore").read_text() == "*\n"


def test_data_of_another_major_version_is_refused(own_folder: Path) -> None:
    version = Layout.at(own_folder).data / "PG_VERSION"
    ours = version.read_text().strip()
    version.write_text("9\n")
    with pytest.raises(embedded.EmbeddedError) as refused:
        embedded.start(own_folder)
    for part in (
        str(own_folder),
        "PostgreSQL 9",
        f"PostgreSQL {ours}",
        "PENSTOCK_PG_BIN",
        "pg_dump",
        "another folder",
    ):
        assert part in str(refused.value)
    version.write_text("16\n")
    with pytest.raises(embedded.EmbeddedError, match=r"set PENSTOCK_PG_BIN to .*/pginstall/bin"):
        embedded.start(own_folder)


def test_a_lost_password_is_replaced(own_folder: Path) -> None:
    layout = Layout.at(own_folder)
    before = layout.read_password()
    layout.password.unlink()
    with embedded.start(own_folder) as postgres:
        assert ask(postgres.url, "select 1") == 1
    assert layout.read_password() != before


def test_the_log_is_kept_small(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    log.write_text("".join(f"line {n}\n" for n in range(100)))
    shown = last_lines(log)
    assert str(log) in shown
    assert shown.count("line") == LINES_IN_AN_ERROR
    assert "line 99" in shown
    assert "nothing was logged" in last_lines(log, since=log.stat().st_size)
    with log.open("a") as server:
        trim(log, largest=100)
        server.write("after\n")
    assert log.read_text() == "after\n"
    assert "line 99" in (tmp_path / "postgres.log.1").read_text()
    trim(log, largest=100)
    assert log.read_text() == "after\n"
