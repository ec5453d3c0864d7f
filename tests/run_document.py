"""Runs every block of a Markdown file in order: Python in one namespace, SQL on DATABASE_URL, shell with ours.

A title says more: `python title="tasks.py"` writes that file instead, as the reader would; one that names another
project is code of theirs, which is not installed here, and only has to be well-formed.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
OURSELVES = re.compile(r"^make (test|demo|docs)\b.*$", re.MULTILINE)
PEERS = {"Celery", "RQ", "procrastinate", "pg-boss"}
SHOWN = {"text", "toml", "json"}


class Block(NamedTuple):
    language: str
    title: str | None
    code: str
    line: int

    @property
    def runs(self) -> bool:
        return self.language not in SHOWN and self.title not in PEERS


def blocks(document: Path) -> Iterator[Block]:
    text = document.read_text("utf-8")
    for match in BLOCK.finditer(text):
        yield Block(match[1], match[2], match[3], text.count("\n", 0, match.start()) + 2)


def run(document: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(document):
        name = f"{document}:{block.line}"
        match block:
            case Block(title=str() as title) if title in PEERS:
                _check(block, name)
            case Block(title=str() as title):
                Path(title).write_text(block.code)
            case Block(language="python"):
                exec(compile("\n" * (block.line - 1) + block.code, str(document), "exec"), namespace)
            case Block(language="sql"):
                import psycopg

                with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                    connection.execute(block.code.encode())
            case Block(language="sh"):
                # these make targets are run by those who run this
                subprocess.run(["bash", "-euo", "pipefail", "-c", OURSELVES.sub("", block.code)], check=True)
            case _:
                _check(block, name)


def _check(block: Block, name: str) -> None:
    """That it is well-formed, of what is shown and not run."""
    match block.language:
        case "python":
            compile(block.code, name, "exec")
        case "json":
            json.loads(block.code)
        case "toml":
            tomllib.loads(block.code)
        case "text" | "js":
            pass
        case other:
            raise SystemExit(f"{name}: a block of {other} would not be run; mark it as text")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
