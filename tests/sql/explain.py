"""The plans of every statement a call runs, those inside functions included, as auto_explain reports them."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import psycopg

from penstock.engine.call import Call
from penstock.engine.runners import Psycopg

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
set auto_explain.log_level = notice;
"""
_PARENTS = """
select child.relname, parent.relname
  from pg_inherits
  join pg_class as child on child.oid = inhrelid
  join pg_class as parent on parent.oid = inhparent
"""


@dataclass(frozen=True)
class Scan:
    """How a plan reads a table. A partition and its indexes go by the names of what they are parts of."""

    table: str
    partition: str
    how: str
    index: str | None
    condition: str
    executed: bool
    limited: bool


@dataclass(frozen=True)
class Plan:
    text: str
    root: Node
    settings: dict[str, str]
    jit: bool
    parents: dict[str, str] = field(repr=False)

    @cached_property
    def scans(self) -> Sequence[Scan]:
        return list(self._scans(self.root, limited=False))

    def _scans(self, node: Node, *, limited: bool) -> Iterator[Scan]:
        limited = limited or node["Node Type"] == "Limit"
        name = node.get("Relation Name") or ("(bitmap)" if "Index Name" in node else None)
        if name is not None and "Scan" in node["Node Type"]:
            index = node.get("Index Name")
            yield Scan(
                table=self.parents.get(name, name),
                partition=name,
                how=node["Node Type"],
                index=index and self.parents.get(index, index),
                condition=node.get("Index Cond", ""),
                executed=node.get("Actual Loops", 1) > 0,
                limited=limited,
            )
        # what sorts or hashes reads all of its input, whatever limit is above
        limited = limited and node["Node Type"] not in ("Sort", "Hash", "Aggregate", "WindowAgg")
        for child in node.get("Plans", ()):
            yield from self._scans(child, limited=limited)

    @property
    def nodes(self) -> Iterator[Node]:
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            waiting += node.get("Plans", ())
            yield node

    @property
    def indexes(self) -> set[str]:
        """The indexes by which live and finished jobs are read."""
        return {scan.index or scan.how for scan in self.scans if scan.table in ("jobs", "history")}

    @property
    def blocks(self) -> int:
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    def __str__(self) -> str:
        return f"{self.text}\n{json.dumps(self.root, indent=1)}"


class Explained:
    """A connection in a transaction that tells the plan of whatever it runs."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._runner = Psycopg(connection, "penstock")
        self._plans: list[Plan] = []
        self._recording = False
        self._parents: dict[str, str] = dict(connection.execute(_PARENTS).fetchall())
        connection.execute(_SETUP)
        connection.add_notice_handler(self._take)

    def _take(self, notice: psycopg.errors.Diagnostic) -> None:
        message = notice.message_primary or ""
        if self._recording and message.startswith("duration:"):
            report = json.loads(message[message.index("{") :])
            text = re.sub(r"\s+", " ", report["Query Text"])
            self._plans.append(
                Plan(text, report["Plan"], report.get("Settings", {}), "JIT" in report, self._parents),
            )

    def run(self, call: Call[T]) -> T:
        return self._runner.run(call)

    @contextmanager
    def recording(self) -> Iterator[list[Plan]]:
        """Collects the plans of what is run inside."""
        self._plans = plans = []
        self._recording = True
        try:
            yield plans
        finally:
            self._recording = False
