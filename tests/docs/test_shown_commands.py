"""What documents, pages and messages show and do not run: each `penstock …` is a command, with options that it has."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import typer

from penstock.cli.commands import cli
from tests.run_document import blocks
from tests.test_documents import GUIDES, RECIPES, ROOT

WHOLE: Any = typer.main.get_command(cli)
DOCUMENTS = [ROOT / "README.md", *GUIDES, *RECIPES]
IN_BLOCKS = re.compile(r"(?:^|\$\(|: |\b[A-Z_]+=\S+ )penstock (?P<arguments>[a-z-][^)|\n]*)", re.MULTILINE)
IN_TEXT = re.compile(r"`(?:[A-Z_]+=\S+ )?penstock (?P<arguments>[a-z][^`]*)`")
IN_A_PAGE = re.compile(r"\bpenstock (?P<arguments>[a-z]+(?: [a-z:]+)*)")
ONE_DAY = {("036-the-terminal-and-deploy.md", "operations")}
"""Commands that a decision thinks of."""


def lines() -> Iterator[tuple[str, str]]:
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.language == "text":
                for match in IN_BLOCKS.finditer(block.code.replace("\\\n", " ")):
                    place = f"{document.relative_to(ROOT)}:{block.line + block.code.count(chr(10), 0, match.start())}"
                    yield place, match["arguments"]


LINES = list(lines())


def mistake_in(arguments: Sequence[str], *, whole: bool = True) -> str | None:
    """As the command line would see it, but for most values: they may be placeholders. Of a command that is only named,
    as in a sentence, what belongs to it may be left out."""
    command, context = WHOLE, WHOLE.context_class(WHOLE, info_name="penstock")
    while hasattr(command, "commands") and arguments:
        name, *arguments = arguments
        if name not in command.commands:
            return f"there is no {context.command_path} {name}"
        command = command.commands[name]
        context = command.context_class(command, parent=context, info_name=name)
    if hasattr(command, "commands"):
        return f"{context.command_path} is no command by itself" if whole else None
    try:
        values, left, _ = command.make_parser(context).parse_args(list(arguments))
        if isinstance(queues := values.get("queues"), list):
            queues = ",".join(queues)
        if isinstance(queues, str) and "=" in queues:
            return f"--queues {queues}: a queue and its slots are written with a colon"
    except Exception as error:
        return None if not whole and "requires an argument" in str(error) else str(error)
    return f"{context.command_path} takes no {' '.join(left)}" if left else None


@pytest.mark.parametrize(("place", "arguments"), LINES, ids=[place for place, _ in LINES])
def test_a_line_of_a_block_is_a_command(place: str, arguments: str) -> None:
    assert mistake_in(shlex.split(arguments, comments=True)) is None, place


def test_what_a_sentence_names_is_a_command() -> None:
    found = [
        (document.name, *arguments)
        for document in DOCUMENTS
        for match in IN_TEXT.finditer(document.read_text("utf-8"))
        if mistake_in(arguments := shlex.split(match["arguments"]), whole=False)
    ]
    assert set(found) == ONE_DAY


def test_what_the_program_tells_people_to_run_is_a_command() -> None:
    """Its pages, and what its modules say between backticks; what stands in braces is filled in later."""
    package = ROOT / "penstock"
    told = [
        *((page, IN_A_PAGE) for page in package.rglob("*.html")),
        *((module, IN_TEXT) for module in package.rglob("*.py")),
    ]
    found = [
        (place.name, match["arguments"].partition(" | ")[0])
        for place, pattern in told
        for match in pattern.finditer(place.read_text("utf-8"))
    ]
    assert {"schedules.html", "workers.html", "hints.py"} <= {name for name, _ in found}
    mistakes = [
        (name, arguments, mistake)
        for name, arguments in found
        if (mistake := mistake_in(shlex.split(re.sub(r"\{[^}]*\}", "x", arguments)), whole=False))
    ]
    assert mistakes == []


@pytest.mark.parametrize(
    "wrong",
    ["jobs", "jobs lst", "worker shop:app --quues mail", "worker shop:app ordinary workers", "token --sub",
     "worker shop:app -q mail=2"],
)  # fmt: skip
def test_what_is_no_command_is_found(wrong: str) -> None:
    assert len(LINES) >= 20
    assert mistake_in(shlex.split(wrong))
