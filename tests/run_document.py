"""Runs every block of a Markdown file in order: Python in one namespace, SQL on DATABASE_URL, shell with ours."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OURSELVES = re.compile(r"^make (test|demo)\b.*$", re.MULTILINE)


def run(document: Path) -> None:
    text = document.read_text("utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        line = text.count("\n", 0, block.start()) + 2
        match language:
            case "python":
                exec(compile("\n" * (line - 1) + code, str(document), "exec"), namespace)
            case "sql":
                with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                    connection.execute(code.encode())
            case "sh":
                # the two make targets are run by those who run this
                subprocess.run(["bash", "-euo", "pipefail", "-c", OURSELVES.sub("", code)], check=True)
            case "text" | "toml":
                pass
            case _:
                raise SystemExit(f"{document}:{line}: a block of {language} would not be run; mark it as text")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
