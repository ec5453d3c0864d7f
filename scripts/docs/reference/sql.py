"""The SQL API: the functions that programs call and the views they join, by the comments that stand above them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.docs.reference.tables import code, prose, table

SQL = Path(__file__).parents[3] / "penstock" / "sql"
FUNCTION = re.compile(
    r"\A((?:--[^\n]*\n)*)create or replace function penstock\.(\w+)\(([^$]*?)\)\s*(?:returns ([^$]*?)\s*)?\n?language",
    re.DOTALL,
)
VIEW = re.compile(r"((?:^--[^\n]*\n)*)^create (?:or replace )?view penstock\.(\w+)[^;]*?;", re.DOTALL | re.MULTILINE)

# what is in none of these is still shown, at the end
SECTIONS = {
    "Enqueueing": "enqueue enqueue_jobs enqueue_plain next_turn take_turns",
    "For users, within their rights and quotas": "start start_for start_batch cancel_mine retry_mine get_my_job "
    "list_my_jobs asked_of_mine approve_mine",
    "Who calls": "caller caller_orgs caller_or_refuse is_callers shown",
    "Looking": "get_job list_jobs search_jobs job_tree workers queue_stats backlog scale_of parked_jobs watch "
    "sum_usage statistics_series depth_series error_groups queue_overview",
    "Changing course": "cancel retry retry_where purge_where move_jobs set_priority",
    "Operators": "preview_operation start_operation continue_operation cancel_operation add_audit",
    "Queues, kinds and quotas": "set_queue set_quota declare_kinds declare_queues",
    "Schedules": "set_schedule plan_schedule fire_schedule run_schedule pause_schedule resume_schedule remove_schedule",
    "Working: leases": "open_lease extend_lease heartbeat close_lease expire_lease holds release_unknown",
    "Working: jobs": "claim complete fail snooze park release stop_cancelled report_progress outputs remember_step "
    "recall_steps lose_sight report_statistics",
    "Waking workers": "wait_for_work stop_waiting wake next_run_at",
    "What happens by itself": "maintain tend promote reclaim",
}
ARTIFACTS = "Artifacts"

INTRODUCTION = """
Every transition of a job is a function in the schema `penstock`, for psql, triggers, pg_cron and other languages as
well as for Python. These stay: arguments are added with a default, and none is removed or changes its meaning without a
new name. Arguments are given by name (`p_limit => 10`) or by position.

Errors raised on purpose have their own SQLSTATE: `PS001` bad input (the message begins with the field), `PS002` no such
job, `PS003` too large, `PS004` lease lost, `PS005` idempotency key used for something else, `PS006` unique key taken.
"""
VIEWS = """
## Views

For your own queries and joins. They are `security_invoker`: the service and your own login see all, users what row
level security shows them.
"""


@dataclass
class Function:
    name: str
    arguments: str
    returns: str
    comment: str


def page() -> str:
    return "\n".join(
        [
            "# SQL",
            "",
            INTRODUCTION,
            *_shown(),
        ]
    )


def functions() -> dict[str, Function]:
    """Each documented function, by its name."""
    found = {}
    for path in sorted((SQL / "functions" / "api").glob("*.sql")):
        match = FUNCTION.match(path.read_text("utf-8"))
        if match is None:
            raise SystemExit(f"{path.name}: a comment and a function were expected")
        comment, name, arguments, returns = match.groups()
        given = [part for part in _split(arguments) if part.split()[:1] != ["out"]]
        results = [" ".join(part.split()[1:]) for part in _split(arguments) if part.split()[:1] == ["out"]]
        returned = " ".join((returns or ", ".join(results)).split())
        found[name] = Function(name, ",".join(given), returned, _prose(comment))
    return found


def views() -> dict[str, tuple[str, str]]:
    """What stands above each view, and the names of its columns."""
    found = {}
    for path in [*sorted((SQL / "views").glob("*.sql")), *sorted((SQL / "migrations").glob("*_owners.sql"))]:
        for match in VIEW.finditer(path.read_text("utf-8")):
            found[match[2]] = _prose(match[1]), _columns(match[2])
    return dict(sorted(found.items()))


def parameters(arguments: str) -> Iterator[tuple[str, str, str]]:
    """Name, type and default of each."""
    for each in filter(None, map(str.strip, _split(re.sub(r"--[^\n]*", "", arguments)))):
        declared, _, default = re.sub(r"\s+default\s+|\s+=\s+", "\0", each, count=1).partition("\0")
        name, _, kind = declared.partition(" ")
        yield name, kind, default


def _shown() -> Iterator[str]:
    yield VIEWS
    for name, (comment, columns) in views().items():
        yield f"### {name}\n\n{comment}\n\nColumns: {columns}\n"
    left = functions()
    for title, names in SECTIONS.items():
        yield f"## {title}\n"
        for name in names.split():
            if function := left.pop(name, None):
                yield _one(function)
    artifacts = [
        name for name, function in left.items() if "artifact" in name or "artifact" in function.comment.lower()
    ]
    for title, rest in ((ARTIFACTS, artifacts), ("Further", [name for name in left if name not in artifacts])):
        if rest:
            yield f"## {title}\n"
            yield from (_one(left[name]) for name in rest)


def _one(function: Function) -> str:
    given = list(parameters(function.arguments))
    required = [(name, kind, code(default) if default else "required") for name, kind, default in given]
    rows = table(
        ("argument", "type", "default"), [(code(name), code(kind), default) for name, kind, default in required]
    )
    return f"### {function.name}\n\n{function.comment}\n\n{rows}Returns {code(function.returns)}\n"


def _prose(comment: str) -> str:
    """Lines that are set in begin a paragraph."""
    lines = [line.removeprefix("--").removeprefix(" ") for line in comment.strip().splitlines()]
    shown = [f"\n{line.strip()}" if line.startswith(" ") and not last.startswith(" ") else line.strip()
             for last, line in zip(["", *lines], lines, strict=False)]  # fmt: skip
    return prose("\n".join(shown))


def _split(text: str) -> list[str]:
    """At commas that no bracket or quotation holds."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "'"
        depth += 0 if quoted else (character in "([") - (character in ")]")
        if character == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _columns(view: str) -> str:
    """As the dump of a fresh database names them."""
    dumped = (SQL / "schema.sql").read_text("utf-8")
    match = re.search(rf"CREATE VIEW penstock\.{view} [^\n]*\n SELECT (.*?)\n   FROM", dumped, re.DOTALL)
    if match is None:
        raise SystemExit(f"{view}: is not in schema.sql")
    return ", ".join(code(re.split(r"[\s.]", each.strip())[-1]) for each in _split(match[1]))
