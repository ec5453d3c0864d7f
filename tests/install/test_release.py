"""What is published: built to the same bytes by tools that are known by their bytes."""

import re
import runpy
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.install.environments import ROOT


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("release-tools.txt", {"build", "hatchling"}),
        ("bill-tools.txt", {"cyclonedx-bom"}),
        ("audit-tools.txt", {"bandit", "pip-audit"}),
    ],
)
def test_every_tool_is_pinned_by_its_hash(name: str, needed: set[str]) -> None:
    tools = [line for line in (ROOT / "scripts" / name).read_text().splitlines() if line[0] != "#"]
    assert {line.partition("==")[0] for line in tools} >= needed
    for line in tools:
        assert re.fullmatch(r"[a-z0-9.-]+==[\d.]+( --hash=sha256:[0-9a-f]{64})+", line), line


def test_a_python_that_is_missing_is_an_error_unless_some_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = runpy.run_path(str(ROOT / "scripts" / "release"))
    found = tmp_path / "python3.12"
    found.write_text("#!/bin/sh\necho 3.12\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    with pytest.raises(SystemExit, match=r"no Python 3\.11, 3\.13, 3\.14 was found"):
        release["interpreters"](partial=False)
    assert release["interpreters"](partial=True) == [str(found)]
    assert capsys.readouterr().out.count("was found: not tried") == 3


def test_a_bill_of_materials_names_what_is_installed_and_what_was_built_here() -> None:
    """These come from no index, and so have no address there."""
    absent_from = runpy.run_path(str(ROOT / "scripts" / "release"))["absent_from"]
    own = {"name": "penstock", "version": "0.1.0"}
    other = {"name": "psycopg", "version": "3.3.2", "purl": "pkg:pypi/psycopg@3.3.2"}
    installed = {"penstock": "0.1.0", "psycopg": "3.3.2"}
    assert absent_from({"bomFormat": "CycloneDX", "components": [own, other]}, installed) == []
    assert absent_from({"bomFormat": "CycloneDX", "components": [own]}, installed) == ["psycopg"]
    assert absent_from({"bomFormat": "CycloneDX", "components": [other]}, installed) == ["penstock"]


@pytest.mark.slow
def test_two_builds_are_the_same_and_hold_what_they_should(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "tree"], check=True)
    tree = tmp_path / "tree"
    said = subprocess.run([tree / "scripts/release", "--build-only"], check=True, capture_output=True, text=True)
    assert said.stdout.count("the same twice") == 4

    [wheel] = tree.glob("dist/penstock-*.whl")
    inside = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in inside if not name.endswith(".dist-info")} == {
        "penstock",
        "penstock_command.py",
        "pytest_penstock.py",
    }
    [source] = tree.glob("dist/penstock-*.tar.gz")
    with tarfile.open(source) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert "penstock/sql/schema.sql" in files
    assert not any(name.startswith(("tests", "bench", ".ci")) for name in files)
