"""Environment variables: those of the server by its settings' own words, and the few that are read elsewhere."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import get_args

from penstock.callbacks import VARIABLE as CALLBACK_SECRET
from penstock.engine.faults import TIMEOUT
from penstock.queue import Settings
from penstock.server.settings import ServerSettings
from scripts.docs.reference.commands import each_command
from scripts.docs.reference.tables import code, table

ELSEWHERE = [
    ("DATABASE_URL", "the embedded Postgres", "Where the jobs are, for every program that talks to Postgres."),
    ("PENSTOCK_JOBS_URL", "", "Where the jobs are instead, when that is BullMQ's queues: `redis://host:6379/0`."),
    ("PENSTOCK_ARTIFACTS", ".penstock/artifacts", "Where files of jobs are kept: a folder, or `s3://bucket/prefix`."),
    (
        "PENSTOCK_DATABASE_TIMEOUT",
        f"{TIMEOUT:g}",
        "Seconds after which a program that enqueues or asks gets `DatabaseUnavailable`. For the server see above.",
    ),
    ("PENSTOCK_PUSH_ALLOW", "", "Networks that push kinds may reach though they are private: `10.0.0.0/8,fd00::/8`."),
    (
        f"{CALLBACK_SECRET}…",
        "",
        "A secret of Standard Webhooks that a provider signs its callbacks with, several with commas between them; "
        '`ctx.callback_url(…, secret="STRIPE")` names the end of the variable.',
    ),
    ("PENSTOCK_PG_BIN", "that of `penstock[embedded]`", "The bin folder of the Postgres that is embedded."),
    ("PENSTOCK_TEST_URL", "an embedded Postgres", "The server on which the test fixtures make their databases."),
    ("NO_COLOR", "", "Logs on a terminal without colours, if it is set to anything."),
]


def page() -> str:
    return "\n".join(
        [
            "# Settings",
            "",
            "## The server",
            "",
            "Of `penstock server`, `penstock up` and `app.asgi(…)`, where each is a keyword: `app.asgi(max_body=…)`.",
            "",
            table(("variable", "type", "default", ""), list(of_server())),
            "## The command line",
            "",
            "Each of these is also an option, which goes first.",
            "",
            table(("variable", "option", "default", ""), list(of_commands())),
            "## Every program",
            "",
            table(("variable", "default", ""), [(code(name), default, about) for name, default, about in ELSEWHERE]),
            "## A queue",
            "",
            "`app.queue(name, …)` in code, `app.queues.set(name, …)`, `penstock queues set`, or in SQL "
            "`penstock.set_queue`. Times are in seconds.",
            "",
            table(("setting", "type", ""), list(of_queues())),
        ]
    )


def of_server() -> Iterator[tuple[str, str, str, str]]:
    about = docstrings(ServerSettings)
    for each in fields(ServerSettings):
        default = "" if each.default in (None, MISSING, "") else str(each.default).lower().replace("_", "")
        yield code(f"PENSTOCK_{each.name.upper()}"), _kind(each.type), code(default), about.get(each.name, "")


def of_commands() -> Iterator[tuple[str, str, str, str]]:
    seen = set()
    for _, command in each_command():
        for given in command.params:
            if given.envvar and given.envvar not in seen:
                seen.add(given.envvar)
                yield code(given.envvar), code(given.opts[0]), code(given.default or ""), given.help or ""


def of_queues() -> Iterator[tuple[str, str, str]]:
    about = docstrings(Settings)
    for name, kind in Settings.__annotations__.items():
        written = inspect.formatannotation(kind).replace("typing.", "").replace("penstock.backoff.", "")
        yield code(name), code(written), about[name]


def _kind(annotation: object) -> str:
    if isinstance(annotation, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    return {bool: "true or false", int: "number", float: "seconds"}.get(annotation, "text")  # type: ignore[call-overload,no-any-return]


def docstrings(of: type) -> dict[str, str]:
    """The text under each field, which Python itself forgets."""
    body = ast.parse(inspect.getsource(of)).body[0]
    assert isinstance(body, ast.ClassDef)
    found, last = {}, ""
    for each in body.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            last = each.target.id
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and last:
            found[last] = str(each.value.value)
    return found
