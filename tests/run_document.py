"""Runs every block of a Markdown file in order: Python in one namespace, SQL on DATABASE_URL, shell with ours.

A port that a document gives a server of ours is replaced by a free one, wherever it stands.

A title says more: `python title="tasks.py"` writes that file instead, as the reader would; one that names another
project is code of theirs, which is not installed here, and only has to be well-formed; ours beside it is run.

As a program it runs the document that it is given. Given a folder it runs one document after the other, each in a fork
of itself that ends as any program does: what most of them import is imported once, and so is the command, which it puts
there (forked_command.py).
"""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.kit.ports import free_port

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
OURSELVES = re.compile(r"^make (up|test|demo|docs)\b.*$", re.MULTILINE)
PORT = re.compile(r"--port (\d+)")
PEERS = {"Celery", "RQ", "procrastinate", "pg-boss", "pgmq", "node-postgres", "BullMQ"}
OURS = "Penstock"
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
        yield Block(match[1], match[2] if match[2] != OURS else None, match[3], text.count("\n", 0, match.start()) + 2)


def run(document: Path) -> None:
    with Shell() as shell:
        _run(document, shell)


def _run(document: Path, shell: "Shell") -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in _on_free_ports([*blocks(document)]):
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
                shell.run(OURSELVES.sub("", block.code), name)
            case _:
                _check(block, name)
    for value in namespace.values():  # what a program does when it ends; no page has to say so
        if type(value).__name__ == "Penstock":
            value.close()


def _on_free_ports(found: list[Block]) -> list[Block]:
    for port in {port for block in found for port in PORT.findall(block.code)}:
        free = str(free_port())
        found = [block._replace(code=re.sub(rf"\b{port}\b", free, block.code)) for block in found]
    return found


class Shell:
    """One for all blocks of a document, as a reader has one terminal: what runs in the background goes on from block to
    block, variables stay, and at the end nothing is left behind."""

    def __init__(self) -> None:
        self._bash: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Shell":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bash is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._bash.pid, signal.SIGTERM)
            with self._bash:  # its pipe is closed, and it is waited for
                pass

    def run(self, code: str, name: str) -> None:
        bash = self._bash = self._bash or self._start()
        assert bash.stdin is not None
        with TemporaryDirectory() as folder:
            script, done = Path(folder, "block"), Path(folder, "done")
            script.write_text(code)
            os.mkfifo(done)
            # opened on both sides before anything is run: whoever reads here is told of the end however it comes
            bash.stdin.write(f"exec 9>{done}; . {script} </dev/null 9>&-; echo done >&9; exec 9>&-\n")
            bash.stdin.flush()
            if done.read_text() != "done\n":
                raise SystemExit(f"{name}: ended with {bash.wait()}")

    def _start(self) -> "subprocess.Popen[str]":
        bash = ["bash", "-euo", "pipefail"]
        return subprocess.Popen(bash, stdin=subprocess.PIPE, text=True, start_new_session=True)


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


class Order(NamedTuple):
    """A document to be run, as a line of JSON on stdin; the answer is a line with the status of its process."""

    document: str
    folder: str
    environment: dict[str, str]
    said: str
    """The file for what it prints."""


def serve(folder: Path) -> None:
    """Until there is nothing more to be read. `folder` is for the command."""
    import penstock.cli.commands
    import penstock.server
    import penstock.testing.database  # noqa: F401
    from tests import forked_command

    gc.freeze()
    with forked_command.install(folder) as listening:
        commands = os.fork()
        if commands == 0:
            forked_command.answer(listening)
    for line in sys.stdin:
        order = Order(*json.loads(line))
        child = os.fork()
        if child == 0:
            _carry_out(order)
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    os.kill(commands, signal.SIGKILL)


def _carry_out(order: Order) -> None:
    for stream, path in enumerate((os.devnull, order.said, order.said)):
        opened = os.open(path, os.O_RDWR | os.O_APPEND)
        os.dup2(opened, stream)
        os.close(opened)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    sys.path.insert(0, order.folder)  # as that of a program that was started there
    run(Path(order.document))


if __name__ == "__main__":
    given = Path(sys.argv[1])
    serve(given) if given.is_dir() else run(given)
