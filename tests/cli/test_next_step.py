"""Every refusal says in one line what is wrong, and ends with what to do about it."""

import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Handler, Penstock
from penstock.cli.hints import with_hint
from penstock.errors import JobFailed
from tests.cli.conftest import Command

ID = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"

REFUSALS: list[tuple[str, str, dict[str, str]]] = [
    # what is typed, how the complaint ends, what is in the environment besides
    (f"jobs show {ID}", "`penstock jobs list` shows those that there are", {}),
    ("jobs retry", "choose them by --queue, --kind or --state", {}),
    ("jobs retry -k nothing", "`penstock jobs list` with it shows which there are", {}),
    ("jobs move mial -k send -y", r"\(did you mean 'mail'\?\); --create makes it", {}),
    (f"artifacts show {ID}", "`penstock artifacts list` shows those that there are", {}),
    (f"artifacts url {ID}", "`penstock artifacts list` shows those that there are", {}),
    ("queues pause nowhere", "--create makes it", {}),
    ("queues set mail fast", "write it as setting=value", {}),
    ("queues set mail speed=9", "there are paused, max_running, .*", {}),
    ("queues set mail max_running=x", "must be a whole number, not 'x'", {}),
    ("queues set mail backoff=3", r'must be JSON such as \{"base": 60, "cap": 3600\}, not 3', {}),
    ("schedules pause nigthly", r"\(did you mean 'nightly'\?\); see `penstock schedules list`", {}),
    ("schedules run nowhere", "see `penstock schedules list`", {}),
    ("schedules remove nowhere", "see `penstock schedules list`", {}),
    ("schedules add x soon tidy", r"no cron expression such as '30 2 \* \* MON-FRI' \(.*\)", {}),
    ("schedules add x @daily tidy --tz Nowhere", "it takes names such as 'Europe/Berlin'", {}),
    ("enqueue", "a file of many jobs by --from", {}),
    ("enqueue send nonsense", r'must be JSON such as \{"document": "d1"\}: .*', {}),
    ("enqueue send --from nofile", "name a file of JSON lines, or -", {}),
    ("enqueue send --from nofile --wait", "leave it out with --from", {}),
    ("enqueue send --run-at soon", r"must be a time such as 2026-12-24T18:00\+01:00, not 'soon'", {}),
    ("enqueue sned --app refusing", r"\(did you mean 'send'\?\); name a kind of that application, .*", {}),
    ("enqueue send_al --app refusing", r"\(did you mean 'send_all'\?\); name a kind of that application, .*", {}),
    ("enqueue send {} --app refusing", "to: is missing; .*|.*`to`.*|.*missing.*", {}),
    ("worker refusing:nothing", "is no such name: write refusing:app", {}),
    ("worker refusing:send", "is no Penstock application: write refusing:app", {}),
    ("worker nowhere:app", "run the command in the folder that the package is in", {}),
    ("worker twice", "write twice:one or twice:two", {}),
    ("worker json", "`app = Penstock\\(\\)`, or name the module that has it", {}),
    ("worker broken:app", "ModuleNotFoundError, as shown above; correct it, or install what is missing", {}),
    ("worker refusing -q a:x", "write it as default:50,exports:3", {}),
    ("worker refusing -p 0", "write it as 2, or as 1:4 for from 1 to 4 by load", {}),
    ("worker refusing --max-memory lots", "write it as 500MB or 2GiB", {}),
    ("worker refusing --api http://127.0.0.1:1", "set PENSTOCK_SERVICE_KEY to the server's service key", {}),
    ("worker refusing --api http://127.0.0.1:1", "says where", {"PENSTOCK_SERVICE_KEY": "key"}),
    ("up refusing --host nowhere.invalid", "such as 127.0.0.1 or 0.0.0.0", {}),
    ("up refusing --port {taken}", r"choose another --port \(0 takes a free one\), or stop what uses it", {}),
    ("server refusing", "`penstock up` makes them for development", {}),
    ("server refusing", "must be a number, not 'much'", {"PENSTOCK_MAX_BODY": "much"}),
    ("token --expires soon", "such as 90s, 15m, 1h or 7d, not 'soon'", {"PENSTOCK_JWT_SECRET": "x" * 32}),
    ("token", "`penstock up` makes one and keeps it in .*", {}),
    ("wake nonsense -q mail", "must begin with https:// or http://, not 'nonsense'", {}),
    ("wake http://127.0.0.1:1 -q mail -H x", "write it as 'Name: value'", {}),
    ("migrate refusing --schema x", "leave it out", {}),
    ("migrate", "check that the database runs and that DATABASE_URL says where", {"DATABASE_URL": "{away}"}),
    ("worker refusing2", "check that the database runs and that DATABASE_URL says where", {"DATABASE_URL": "{away}"}),
    ("jobs list", "Check that it runs and that DATABASE_URL says where", {"DATABASE_URL": "{away}"}),
    ("jobs list", "for a : in the password", {"DATABASE_URL": "mysql://x"}),
    ("jobs list", "start one with `penstock db start`", {"DATABASE_URL": ""}),
    ("jobs list", "run `penstock migrate` .*", {"PENSTOCK_SCHEMA": "elsewhere"}),
    ("jobs list", "connect as the role that ran `penstock migrate`, .*", {"DATABASE_URL": "{stranger}"}),
    ("migrate", "create it, or correct its name in DATABASE_URL", {"DATABASE_URL": "{no_database}"}),
    ("db url", "start one with `penstock db start`", {}),
    ("init .", "as in `penstock init hello`", {}),
]


@pytest.fixture
def places(url: str) -> Iterator[dict[str, str]]:
    """Databases that nobody can use, and a port that is taken."""
    stranger = f"stranger_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection, socket.create_server(("127.0.0.1", 0)) as taken:
        connection.execute(f"create role {stranger} login password 'x'".encode())
        yield {
            "away": "postgresql://127.0.0.1:1/nowhere",
            "stranger": make_conninfo(url, user=stranger, password="x"),
            "no_database": make_conninfo(url, dbname="no_such_database"),
            "taken": str(taken.getsockname()[1]),
        }
        connection.execute(f"drop role {stranger}".encode())


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """Commands that run until they are stopped set it up for themselves."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: Penstock, send: Handler[..., None]) -> None:
    """Where applications are, some of which cannot be loaded; the database has a queue `mail` and a schedule."""
    own = "from penstock import Penstock\n"
    jobs = "@app.job\ndef send(to: str) -> None: ...\n@app.flow()\ndef send_all() -> None: ...\n"
    (tmp_path / "refusing.py").write_text(f"{own}app = Penstock()\n{jobs}")
    (tmp_path / "refusing2.py").write_text(f"{own}app = Penstock()\n@app.job\ndef send(to: str) -> None: ...\n")
    (tmp_path / "twice.py").write_text(f"{own}one = Penstock()\ntwo = Penstock()\n")
    (tmp_path / "broken.py").write_text("import something_that_is_not_there\n")
    (tmp_path / "app.py").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("PENSTOCK_SERVICE_KEY", "PENSTOCK_JWT_SECRET", "PENSTOCK_JWKS_URL"):
        monkeypatch.delenv(name, raising=False)
    app.queues.set("mail", max_running=3)
    app.schedules.set("nightly", "0 2 * * *", "tidy")


@pytest.mark.usefixtures("folder", "logging_as_it_was")
def test_every_refusal_ends_with_what_to_do(penstock: Command, places: dict[str, str]) -> None:
    wrong = []
    for typed, ending, environment in REFUSALS:
        given = {name: value.format(**places) or None for name, value in environment.items()}
        words = [word if word == "{}" else word.format(**places) for word in typed.split()]
        result = Command({**penstock.environment, **given})(*words)
        *before, last = result.stderr.splitlines() or [""]
        # what cannot be imported shows where; everything else is one line
        fits = re.fullmatch(f"error: .*{ending}", last) and (not before or "broken" in typed)
        if result.exit_code != 1 or not fits:
            wrong.append((typed, environment, result.exit_code, result.output))
    assert wrong == []


@pytest.mark.usefixtures("folder")
def test_ids_that_were_left_alone_are_named(penstock: Command, send: Handler[..., None], app: Penstock) -> None:
    live = send.enqueue("x")
    for command, why in (("retry", "neither failed nor cancelled"), ("cancel", "ended already")):
        result = penstock("jobs", command, ID)
        assert (result.exit_code, result.stdout[:2]) == (0, "0 ")
        assert result.stderr == f"left alone: {ID}, {why} or unknown; see `penstock jobs show {ID}`\n"
    assert f"left alone: {live.id}, neither failed" in penstock("jobs", "retry", live.id).stderr


def test_a_job_that_failed_says_where_its_traceback_is() -> None:
    said = with_hint(JobFailed("send 1 failed after 3 attempts: no such address"))
    assert said.endswith("address; `penstock jobs show ID` has its traceback, `penstock jobs retry ID` brings it back")
