"""What was promised to whom: files that producers and workers append to, and their comparison with the database."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import psycopg

Fate = Literal["committed", "rolled back", "maybe"]
"""Maybe: the connection was lost while the server was asked to commit."""

PAYING = ("paid", "paid_in_thread", "doomed")
"""Kinds that write a row of chaos.effects in the transaction of their completion."""

TABLES = """
    create schema chaos;
    create table chaos.effects (job uuid not null, claims int not null);
    create table chaos.fates (id uuid not null, fate text not null);
    create table chaos.runs (
      job uuid not null, claims int not null, lease bigint not null,
      pid int not null, at float8 not null, what text not null
    );
    create index on chaos.effects (job);
    create index on chaos.fates (id);
    create index on chaos.runs (job, claims);
"""


class Appender:
    """A file of one JSON value a line, of which a killed process leaves whole lines."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._durable = durable

    def write(self, value: Sequence[object]) -> None:
        os.write(self._file, json.dumps(value).encode() + b"\n")
        if self._durable:
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


class Fates:
    """A producer's own ledger: what became of each job, written when it is known."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = Appender(folder / f"{name}.fates", durable=True)

    def write(self, fate: Fate, ids: Iterable[UUID]) -> None:
        self._file.write([fate, [str(id) for id in ids]])

    def close(self) -> None:
        self._file.close()


class Runs:
    """A worker's own ledger: when each run of a handler began and how it ended."""

    def __init__(self, folder: Path, name: str) -> None:
        self.over = storm_over(folder)
        self._file = Appender(folder / f"{name}-{os.getpid()}.runs")

    def write(self, what: Literal["began", "returned", "raised"], job: UUID, claims: int, lease: int) -> None:
        self._file.write([str(job), claims, lease, os.getpid(), time.time(), what])

    def close(self) -> None:
        self._file.close()


def storm_over(folder: Path) -> Path:
    """A file that is there once no fault will strike any more: jobs that last as long as the storm look for it."""
    return folder / "over"


def read_fates(folder: Path) -> Iterator[tuple[str, str]]:
    for file in folder.glob("*.fates"):
        for line in file.read_text().splitlines():
            fate, ids = json.loads(line)
            for id in ids:
                yield id, fate


def read_runs(folder: Path) -> Iterator[tuple[Any, ...]]:
    for file in folder.glob("*.runs"):
        for line in file.read_text().splitlines():
            yield tuple(json.loads(line))


@dataclass(frozen=True)
class Reckoning:
    """The sums, and in the order of `RED` what must be nought."""

    enqueued: int
    finished: int
    failed: int
    rolled_back: int
    maybe: int
    maybe_landed: int
    runs: int
    rerun: int
    refused: int
    lost: int
    ghosts: int
    double_accepted: int
    effects_wrong: int

    @property
    def red(self) -> dict[str, int]:
        return {name: count for name in RED if (count := getattr(self, name))}

    def to_json(self) -> dict[str, int]:
        return asdict(self)


RED = ("lost", "ghosts", "double_accepted", "effects_wrong")

_EXISTS = "exists (select from penstock.all_jobs as a where a.id = f.id)"
_IN_HISTORY = "exists (select from penstock.history as h where h.id = f.id)"

QUERIES = {
    "enqueued": f"select count(*) from chaos.fates as f where fate = 'committed' or fate = 'maybe' and {_EXISTS}",
    "finished": "select count(*) from penstock.history",
    "failed": "select count(*) from penstock.history where state = 'failed'",
    "rolled_back": "select count(*) from chaos.fates where fate = 'rolled back'",
    "maybe": "select count(*) from chaos.fates where fate = 'maybe'",
    "maybe_landed": f"select count(*) from chaos.fates as f where fate = 'maybe' and {_EXISTS}",
    "runs": "select count(*) from chaos.runs where what = 'began'",
    "rerun": "select count(*) from (select from chaos.runs where what = 'began' group by job having count(*) > 1) as r",
    # the handler returned, but too late: its job was another's by then
    "refused": """
        select count(*)
          from chaos.runs as r
          join penstock.history as h on h.id = r.job
         where r.what = 'returned' and r.claims <> h.claims
    """,
    # committed and not finished, wherever it is now; or uncertain, there, and not finished
    "lost": f"""
        select count(*)
          from chaos.fates as f
         where not {_IN_HISTORY} and (fate = 'committed' or fate = 'maybe' and {_EXISTS})
    """,
    # there, though it was rolled back or nobody enqueued it
    "ghosts": """
        select count(*)
          from (select id from penstock.jobs union select id from penstock.history) as a
         where not exists (select from chaos.fates as f where f.id = a.id and fate <> 'rolled back')
    """,
    # Finished and unfinished at once; or accepted from other hands than the last claim's, as the output tells. That
    # claim was run exactly once, under the lease that completed it.
    "double_accepted": """
        select count(*)
          from penstock.history as h
         where exists (select from penstock.jobs as j where j.id = h.id)
            or state = 'succeeded' and (
                 lease is null
                 or (output->>'claims')::int is distinct from claims
                 or (select count(*) from chaos.runs as r
                      where r.job = h.id and r.claims = h.claims and r.lease = h.lease and what = 'began') <> 1)
    """,
    # once, by the accepted run, for each that succeeded, and never for another
    "effects_wrong": """
        select count(*)
          from (select job, count(*) as times, min(claims) as claims from chaos.effects group by job) as e
          full join (select id, claims from penstock.history where kind = any(%(paying)s) and state = 'succeeded') as h
            on h.id = e.job
         where times is distinct from 1 or h.id is null or h.claims <> e.claims
    """,
}


def reckon(connection: psycopg.Connection[Any], folder: Path) -> Reckoning:
    """Reads the ledgers into the database and compares."""
    connection.execute("truncate chaos.fates, chaos.runs")
    with connection.cursor() as cursor:
        with cursor.copy("copy chaos.fates (id, fate) from stdin") as copy:
            for fate in read_fates(folder):
                copy.write_row(fate)
        with cursor.copy("copy chaos.runs (job, claims, lease, pid, at, what) from stdin") as copy:
            for run in read_runs(folder):
                copy.write_row(run)
    connection.execute("analyze")
    paying = {"paying": list(PAYING)}
    return Reckoning(
        **{name: connection.execute(query.encode(), paying).fetchall()[0][0] for name, query in QUERIES.items()}
    )
