"""What `penstock init` writes works as it stands. That it fits its types, `make types` says of the files themselves."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is written to; `app` is not imported yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "app", raising=False)
    return tmp_path / "hello"


def test_a_starter_is_written_and_its_commands_and_its_tests_work(
    penstock: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    wrote, _, *commands = penstock.lines("init", "hello")
    assert wrote == "wrote app.py, test_app.py, README.md, .gitignore in hello"
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "README.md", "app.py", "test_app.py"]
    up, enqueue = (shlex.split(command, comments=True) for command in commands)
    assert up == ["cd", "hello", "&&", "penstock", "up", "app:app"]
    assert enqueue[:4] == ["cd", "hello", "&&", "penstock"]
    readme = (folder / "README.md").read_text()
    for command in commands:
        assert f"`{command.partition('&& ')[2].partition('   #')[0]}`" in readme

    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    [id] = penstock.lines(*(word for word in enqueue[4:] if word != "--wait"))
    while penstock.json("tick", "app:app")["results"]:
        pass
    book = penstock.json("jobs", "show", id)
    assert (book["state"], book["output"]["title"]) == ("succeeded", "Rivers")
    assert book["output"]["contents"].count("100 words") == 3
    monkeypatch.delitem(sys.modules, "app")

    ruff = Path(sys.executable).with_name("ruff")
    for checks in (["check", "--no-cache"], ["format", "--check"]):
        subprocess.run([ruff, *checks, "--isolated", "."], cwd=folder, check=True, capture_output=True)
    tested = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:schemathesis"],
        cwd=folder, capture_output=True, text=True, env=os.environ | {"PENSTOCK_TEST_URL": url},
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "2 passed" in tested.stdout


def test_nothing_is_overwritten(penstock: Command, folder: Path) -> None:
    folder.mkdir()
    (folder / "app.py").write_text("mine")
    said = penstock.fails("init", folder)
    assert said.startswith("error: app.py is in ")
    assert said.endswith("name another folder, as in `penstock init hello`\n")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("app.py", "mine")]


def test_a_folder_that_is_a_file_is_said(penstock: Command, folder: Path) -> None:
    folder.write_text("")
    assert "name another folder" in penstock.fails("init", folder)
