"""Other processes that use a server, and what can be seen of its own processes from outside."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg

from penstock.embedded import locks, run_keeper
from penstock.embedded.folder import Layout
from penstock.embedded.running import RunningServer

SCRIPT = """
import json, sys
from penstock import embedded
try:
    postgres = embedded.start(sys.argv[1], **json.loads(sys.argv[2]))
except (embedded.EmbeddedError, KeyboardInterrupt) as problem:
    print("error:", problem, flush=True)
    raise SystemExit(1)
print(postgres.url, flush=True)
sys.stdin.read()
"""


class User:
    """A process that starts or joins the server and ends, without closing anything, when told to leave."""

    def __init__(
        self,
        folder: Path,
        *,
        python: str = sys.executable,
        env: Mapping[str, str] | None = None,
        uid: int | None = None,
        **asked: object,
    ) -> None:
        self.process = subprocess.Popen(
            [python, "-c", SCRIPT, folder, json.dumps(asked)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | dict(env or {}),
            start_new_session=True,
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )

    def url(self) -> str:
        """Wait until it has the server."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith("postgresql://"), line
        return line

    def error(self) -> str:
        """Wait until it has failed."""
        assert self.process.stdout is not None
        printed = self.process.stdout.read()
        assert printed.startswith("error:"), printed
        return printed

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait()

    def __enter__(self) -> "User":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        with self.process:
            pass


def ask(url: str, query: str) -> Any:
    """The first value of the first row."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def tell(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def running(folder: Path) -> RunningServer:
    server = RunningServer.read(Layout.at(folder))
    assert server is not None
    return server


def nothing_runs(folder: Path) -> bool:
    """No keeper, and no process of Postgres, not even one on its way out."""
    layout = Layout.at(folder)
    return locks.is_free(layout.keeper_lock) and locks.is_free(layout.server_lock)


def keeper_of(folder: Path) -> int | None:
    """The keeper, also before its server runs."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(run_keeper.__file__) in words and os.fsencode(folder.resolve()) in words:
            return int(process.name)
    return None


def processes_in(data: Path) -> list[int]:
    """Every process of the Postgres that uses this data folder: they all stand in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").samefile(data):
                found.append(int(process.name))
        except OSError:
            continue
    return found
