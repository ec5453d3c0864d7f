"""The generated reference leaves nothing out."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import penstock
from penstock.job_options import Options
from scripts.docs.reference import commands, http, python, settings, sql

ROOT = Path(__file__).parents[2]


def test_every_function_is_there_with_its_arguments_and_their_defaults() -> None:
    page = sql.page()
    files = {path.stem for path in (ROOT / "penstock/sql/functions/api").glob("*.sql")}
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == files | set(sql.views())
    assert "| `max_attempts` | `int` | `5` |" in page
    assert "| `args` | `jsonb` | `'{}'` |" in page
    for function in sql.functions().values():
        assert function.comment, f"{function.name}: no comment says what it is for"
        assert all(kind for _, kind, _ in sql.parameters(function.arguments)), function.name


def test_every_view_has_columns_and_words() -> None:
    views = sql.views()
    assert {"jobs_view", "live_jobs_view", "artifacts_view", "my_jobs"} <= set(views)
    assert all(comment and columns for comment, columns in views.values())
    assert "`leased_until`" in views["jobs_view"][1]


def test_every_variable_that_is_read_is_there_and_said_what_for() -> None:
    page = settings.page()
    read = {
        name
        for path in [*(ROOT / "penstock").rglob("*.py"), ROOT / "pytest_penstock.py", ROOT / "penstock_command.py"]
        for name in re.findall(r"PENSTOCK_[A-Z_]+[A-Z]", path.read_text("utf-8"))
    }
    internal = {"PENSTOCK_PROCESS"}  # a supervisor tells its children by it which of them they are
    by_name = re.findall(r"`(PENSTOCK_[A-Z_]+)_…`", page)  # the rest of such a name is the user's choice
    known = [name for name in read - internal if f"`{name}`" in page or name.startswith(tuple(by_name))]
    assert read - internal - set(known) == set()
    assert all(about for *_, about in [*settings.of_server(), *settings.of_commands(), *settings.of_queues()])


def test_every_option_of_a_handler_is_said_what_for() -> None:
    said = settings.docstrings(Options)
    assert [field.name for field in fields(Options) if field.name not in said] == []


def test_every_command_is_there_with_its_options() -> None:
    page = commands.page()
    for words, command in commands.each_command():
        assert f"## {words}\n" in page
        assert command.help, words
        assert all(given.help for given in command.params if given.name != "help" and not given.hidden), words
    assert "| `--grace` | Seconds that running jobs may go on when it is stopped. | `30.0` |" in page


def test_every_request_is_there_and_every_shape_it_names() -> None:
    page = http.page()
    described = http.description()
    for method, path, operation in http.operations(described):
        heading = f"### {method.upper()} {path}".replace("{", "&#123;").replace("}", "&#125;")
        assert heading in page
        assert operation["summary"]
    shapes = {name.lower().replace(".", "") for name in re.findall(r"^### ([\w.]+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= shapes


def test_every_public_name_is_on_a_page() -> None:
    pages = dict(python.pages())
    shown = "\n".join(pages.values())
    assert [name for name in penstock.__all__ if f"::: penstock.{name}\n" not in shown] == []


def test_the_errors_that_troubleshooting_quotes_are_those_of_the_code() -> None:
    code = "\n".join(
        path.read_text("utf-8") for path in (ROOT / "penstock").rglob("*") if path.suffix in (".py", ".sql")
    )
    joined = re.sub(r'"\s*\n\s*f?"', "", code).replace("`", "").replace("''", "'")
    joined = joined.replace("{self.what}", "the database")
    page = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    # what one sees, and what the log says of its cause
    seen_and_why = re.findall(r"^\| ([^|]*\|[^|]*) \|", page, re.MULTILINE)
    messages = [quoted for row in seen_and_why for quoted in re.findall(r"`([^`]+)`", row)]
    # what is made up for the example: values in quotation marks, numbers, what is left out
    parts = [part.strip(" :,()?;") for message in messages for part in re.split(r"'[^']*'|…|\d[\d.]*|[()]", message)]
    sought = [part for part in parts if len(part) > 11 and not part.startswith(("penstock.", "ctx.", "Retry-After"))]
    assert len(sought) > 25
    assert [part for part in sought if part not in joined] == []


def test_every_extra_is_in_the_table_of_what_to_install() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "installing.md").read_text("utf-8")
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(told) == sorted(set(declared) - {"all", "docs", "dev"})


def test_the_guide_to_monitoring_names_every_metric_and_alert() -> None:
    page = (ROOT / "docs" / "guides" / "monitoring.md").read_text("utf-8")
    told = "\n".join((ROOT / "penstock" / each / "metrics.py").read_text("utf-8") for each in ("server", "worker"))
    alerts = (ROOT / "deploy" / "monitoring" / "alerts.yml").read_text("utf-8")
    names = set(re.findall(r'"(penstock_[a-z_]+)"', told)) | set(re.findall(r"alert: (\w+)", alerts))
    assert {name for name in names if name not in page} == set()
