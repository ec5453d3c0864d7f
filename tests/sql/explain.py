"""The plans of every statement a command runs, those inside functions included, as auto_explain reports them."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import psycopg

from penstock.engine.commands import Command
from penstock.engine.postgres.drivers import Psycopg
from penstock.engine.postgres.render import render

T = TypeVar("T")
Node = dict[str, Any]

_SETUP = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set auto_explain.log_analyze = on;
set auto_explain.log_timing = off;
set auto_explain.log_buffers = on;
set auto_explain.log_settings = on;
set auto_explain.log_format = json;
set auto_explain.log_level = notice
"""
_PARENTS = """
select child.relname, parent.relname
  from pg_inherits
  join pg_class as child on child.oid = inhrelid
  join pg_class as parent on parent.oid = inhparent
"""
_READS_ALL_OF_ITS_INPUT = ("Sort", "Hash", "Aggregate", "WindowAgg")


@dataclass(frozen=True)
class Scan:
    """How a plan reads live or finished jobs, or what is beside them. A partition and its indexes go by the names of
    what they are parts of."""

    table: str
    partition: str
    how: str
    index: str | None
    condition: str
    filter: str
    executed: bool
    limited: bool
    """A limit above stops it early: nothing in between wants all of its rows."""
    blocks: int

    @property
    def finds_nothing(self) -> bool:
        """A look-up of no ids at all, for which the planner takes whatever index is smallest."""
        return "= ANY ('{}'" in self.filter + self.condition


@dataclass(frozen=True)
class Plan:
    text: str
    root: Node
    jit: bool
    parents: dict[str, str] = field(repr=False)

    @cached_property
    def scans(self) -> Sequence[Scan]:
        return self.scans_of("jobs", "history", "payloads", "errors")

    def scans_of(self, *tables: str) -> Sequence[Scan]:
        return [
            scan for scan in self._scans(self.root, limited=False) if scan.table in tables and not scan.finds_nothing
        ]

    def _scans(self, node: Node, *, limited: bool) -> Iterator[Scan]:
        kind: str = node["Node Type"]
        limited = (limited or kind == "Limit") and kind not in _READS_ALL_OF_ITS_INPUT
        name: str | None = node.get("Relation Name")
        if name is not None and kind.endswith("Scan"):
            bitmap = node["Plans"][0] if kind == "Bitmap Heap Scan" else node
            index = bitmap.get("Index Name")
            yield Scan(
                table=self.parents.get(name, name),
                partition=name,
                how=kind,
                index=index and self.parents.get(index, index),
                condition=bitmap.get("Index Cond", ""),
                filter=node.get("Filter", ""),
                executed=node["Actual Loops"] > 0,
                limited=limited,
                blocks=node["Shared Hit Blocks"] + node["Shared Read Blocks"],
            )
        for child in node.get("Plans", ()):
            yield from self._scans(child, limited=limited)

    @property
    def indexes(self) -> set[str]:
        """The indexes by which jobs are read, and what is beside them."""
        return {scan.index or scan.how for scan in self.scans}

    @property
    def blocks(self) -> int:
        """How many blocks it looked at to read jobs."""
        return sum(scan.blocks for scan in self.scans)

    @property
    def sorted_rows(self) -> int:
        """How many rows its largest sort was given."""
        sorts = [node for node in _nodes(self.root) if node["Node Type"] == "Sort"]
        return max((int(sort["Plans"][0]["Actual Rows"]) for sort in sorts), default=0)

    def __str__(self) -> str:
        return f"{self.text}\n" + "\n".join(_lines(self.root))


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _lines(node: Node, depth: int = 1) -> Iterator[str]:
    """The plan for a person who has to find out what is wrong with it."""
    shown = ("Relation Name", "Index Name", "Index Cond", "Filter", "Sort Key", "Actual Rows", "Actual Loops",
             "Shared Hit Blocks", "Shared Read Blocks")  # fmt: skip
    about = ", ".join(f"{name}: {node[name]}" for name in shown if name in node)
    yield f"{'  ' * depth}{node['Node Type']} ({about})"
    for child in node.get("Plans", ()):
        yield from _lines(child, depth + 1)


class Explained:
    """A connection in a transaction that tells the plan of whatever it runs."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._runner = Psycopg(connection, "penstock")
        self._plans: list[Plan] | None = None
        self._parents: dict[str, str] = dict(connection.execute(_PARENTS).fetchall())
        connection.execute(_SETUP)
        connection.add_notice_handler(self._take)

    def _take(self, notice: psycopg.errors.Diagnostic) -> None:
        message = notice.message_primary or ""
        if self._plans is not None and message.startswith("duration:"):
            report = json.loads(message[message.index("{") :])
            root = report["Plan"]
            would_jit = report.get("Settings", {}).get("jit") != "off" and root["Total Cost"] > 100_000
            text = re.sub(r"\s+", " ", report["Query Text"]).strip()
            self._plans.append(Plan(text, root, "JIT" in report or would_jit, self._parents))

    def run(self, command: Command[T]) -> T:
        return self._runner.run(render(command))

    @contextmanager
    def recording(self) -> Iterator[list[Plan]]:
        """Collects the plans of what is run inside."""
        plans: list[Plan] = []
        self._plans = plans
        yield plans
        self._plans = None
