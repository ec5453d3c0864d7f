import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest
import typer

from penstock.cli.commands import cli
from tests.cli.conftest import Command

ROOT = Path(__file__).parent.parent.parent
WHOLE = typer.main.get_command(cli)


def commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


ALL = list(commands(WHOLE))


def test_these_are_all_commands() -> None:
    assert {" ".join(path) for path, command in ALL if not hasattr(command, "commands")} == {
        "migrate", "move", "db start", "db stop", "db url",
        "jobs list", "jobs show", "jobs retry", "jobs cancel", "jobs purge", "jobs move", "jobs priority",
        "queues list", "queues pause", "queues resume", "queues set",
        "schedules list", "schedules add", "schedules remove", "schedules pause", "schedules resume", "schedules run",
        "artifacts list", "artifacts show", "artifacts url", "artifacts sweep",
        "up", "server", "worker", "workers", "tick", "wake", "enqueue", "token", "init", "top", "doctor", "bench",
    }  # fmt: skip


@pytest.mark.parametrize(("path", "command"), ALL, ids=lambda each: " ".join(each) if isinstance(each, tuple) else "")
def test_help_explains_the_command_and_each_of_its_options(
    homeless: Command, path: tuple[str, ...], command: click.Command
) -> None:
    text = "\n".join(homeless.lines(*path, "--help"))
    assert command.help
    assert command.help.split(".")[0] in " ".join(text.split())
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        if isinstance(parameter, click.Option) or parameter.param_type_name == "option":
            for name in parameter.opts:
                assert name in text
            assert getattr(parameter, "help", None), f"{parameter.name} is not explained"
    for name in getattr(command, "commands", {}):
        assert name in text


# these run an application, which knows where its database is
OF_AN_APPLICATION = [("up",), ("server",), ("worker",), ("tick",)]
ON_NONE = [("token",), ("init",)]
ON_A_DATABASE = [
    path for path, command in ALL if not hasattr(command, "commands") and path not in (*OF_AN_APPLICATION, *ON_NONE)
]  # fmt: skip


@pytest.mark.parametrize("path", ON_A_DATABASE, ids=" ".join)
def test_every_command_takes_json_and_says_where_its_database_may_be(homeless: Command, path: tuple[str, ...]) -> None:
    text = "\n".join(homeless.lines(*path, "--help"))
    assert "--json" in text
    assert "PENSTOCK_FOLDER" in text
    assert ("DATABASE_URL" in text) is (path[0] != "db")


def test_every_command_takes_json_but_for_those_that_are_named_for_going_on() -> None:
    options = {path: {name for each in command.params for name in each.opts}  # type: ignore[attr-defined]
               for path, command in ALL if not hasattr(command, "commands")}  # fmt: skip
    going_on = {path[0] for path, names in options.items() if "--json" not in names}
    assert going_on == {path[0] for path, names in options.items() if "--log-format" in names}
    told = " ".join(str(WHOLE.help).split())
    [named] = re.findall(r"Commands take --json; ([\w, ]+), which go on, take --log-format json", told)
    assert set(re.split(", | and ", named)) == going_on
    guide = " ".join((ROOT / "docs" / "guides" / "terminal.md").read_text("utf-8").split())
    [named] = re.findall(r"takes `--json` for scripts, but for ([^:]+):", guide)
    assert set(re.findall(r"`(\w+)`", named)) == going_on


@pytest.mark.parametrize("path", [path for path, command in ALL if hasattr(command, "commands")], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(homeless: Command, path: tuple[str, ...]) -> None:
    result = homeless(*path)
    assert result.exit_code == 2
    assert "Usage: penstock" in result.output


def test_the_command_is_installed_and_knows_its_version() -> None:
    script = Path(sys.executable).with_name("penstock")
    for command in ([str(script)], [sys.executable, "-W", "error", "-m", "penstock.cli"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, version("penstock") + "\n", "")


def test_no_option_is_named_that_no_command_has() -> None:
    options = [parameter for _, command in ALL for parameter in command.params]  # type: ignore[attr-defined]
    there = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    for file in (ROOT / "penstock" / "cli").glob("*.py"):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", file.read_text("utf-8")))
        assert named <= there, file.name
