"""pgmq's SQL on our engine beside the real one, each in a database of its own on one Postgres.

Batches are sent, read and archived; rounds of ours and of theirs take turns, so that what else the machine does falls
on both. Theirs is what the PyPI package `pgmq` brings with it, or the file that --pgmq-sql names.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from penstock.engine.postgres.migrate import migrate
from penstock.testing.database import address_of

BATCH = 100
STEPS = ("send", "read", "archive")


@dataclass
class Queue:
    """One of the two, and how many messages a second it took in each round, by step."""

    name: str
    connection: psycopg.Connection[tuple[object, ...]]
    rates: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in (*STEPS, "all")})

    def round(self, batches: int) -> None:
        messages = [Jsonb({"order": n, "to": "ada@example.com", "text": "x" * 60}) for n in range(BATCH)]
        read: list[list[object]] = []
        took: dict[str, float] = {}
        for step in STEPS:
            began = time.perf_counter()
            for batch in range(batches):
                if step == "send":
                    self._run("select * from pgmq.send_batch('bench', %s)", [messages])
                elif step == "read":
                    read.append([row[0] for row in self._run("select * from pgmq.read('bench', 60, %s)", [BATCH])])
                else:
                    archived = self._run("select * from pgmq.archive('bench', %s::bigint[])", [read[batch]])
                    assert len(archived) == BATCH
            took[step] = time.perf_counter() - began
            self.rates[step].append(batches * BATCH / took[step])
        self.rates["all"].append(batches * BATCH / sum(took.values()))

    def _run(self, text: str, values: list[object]) -> list[tuple[object, ...]]:
        return self.connection.execute(text.encode(), values).fetchall()

    def told(self) -> dict[str, float]:
        return {step: round(statistics.median(rates)) for step, rates in self.rates.items()}


def real_sql(given: Path | None) -> str:
    if given is not None:
        return given.read_text("utf-8")
    from pgmq import get_embedded_install_sql

    return get_embedded_install_sql()


def measured(server: str, batches: int, rounds: int, real: str) -> dict[str, object]:
    """`pgmq_ratio`, our messages a second by theirs, through all three steps; and the rates."""
    ours, theirs = queues(server, real)
    for each in (ours, theirs):
        each.round(batches)
        each.rates = {step: [] for step in each.rates}
    for _ in range(rounds):
        for each in (ours, theirs):
            each.round(batches)
    ratios = {
        step: statistics.median(a / b for a, b in zip(ours.rates[step], theirs.rates[step], strict=True))
        for step in ours.rates
    }
    for each in (ours, theirs):
        each.connection.close()
        drop(server, each.name)
    return {
        "pgmq_ratio": round(ratios["all"], 3),
        "pgmq_ratios": {step: round(ratios[step], 3) for step in STEPS},
        "pgmq_messages_per_s": {each.name: each.told() for each in (ours, theirs)},
    }


def queues(server: str, real: str) -> Iterator[Queue]:
    for name in ("penstock", "pgmq"):
        drop(server, name)
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'create database "interop_{name}"'.encode())
        url = address_of(server, f"interop_{name}")
        if name == "penstock":
            migrate(url, with_=["pgmq"])
        connection = psycopg.connect(url, autocommit=True)
        if name == "pgmq":
            connection.execute(real.encode())
        connection.execute("select pgmq.create('bench')")
        yield Queue(name, connection)


def drop(server: str, name: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database if exists "interop_{name}" with (force)'.encode())
