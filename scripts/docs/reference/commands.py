"""The command line, as the command itself describes it."""

from collections.abc import Iterator
from typing import Any

import typer

from penstock.cli.commands import cli
from scripts.docs.reference.tables import code, prose, table


def page() -> str:
    return "\n".join(
        [
            "# The command line",
            "",
            "`pip install 'penstock[cli]'` brings the command. " + str(cli.info.help),
            "",
            *(shown for words, command in each_command() for shown in _one(words, command)),
        ]
    )


def each_command() -> Iterator[tuple[str, Any]]:
    """`penstock jobs list` and the like, each with what describes it."""

    def below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
        for name, each in sorted(getattr(command, "commands", {}).items()):
            if getattr(each, "commands", None):
                yield from below(f"{words} {name}", each)
            elif not each.hidden:
                yield f"{words} {name}", each

    yield from below("penstock", typer.main.get_command(cli))


def _one(words: str, command: Any) -> Iterator[str]:
    shown = [each for each in command.params if each.name != "help" and not each.hidden]
    arguments = [each for each in shown if not each.opts[0].startswith("-")]
    named = " ".join(f"{each.name.upper()}" if each.required else f"[{each.name.upper()}]" for each in arguments)
    yield f"## {words}\n"
    yield f"```text\n{words} [options] {named}".rstrip() + "\n```\n"
    yield prose((command.help or "").replace("\f", "")) + "\n"
    yield table(("argument", "", "default"), [_row(each) for each in arguments])
    yield table(("option", "", "default"), [_row(each) for each in shown if each not in arguments])


def _row(given: Any) -> tuple[str, str, str]:
    spelled = given.name.upper() if given.opts[0] == given.name else ", ".join([*given.opts, *given.secondary_opts])
    about = given.help or ""
    if given.envvar:
        about = f"{about} {code(given.envvar)} in the environment."
    return code(spelled), about, "required" if given.required else code(_default(given))


def _default(given: Any) -> str:
    value = getattr(given.default, "value", given.default)
    match value:
        case None | () | []:
            return ""
        case True | False:
            return "yes" if value else "no"
        case _ if callable(value):
            return ""
    return str(value)
