"""What a command costs, in blocks that Postgres looks at: no busy machine can change that."""

import statistics
from collections.abc import Sequence
from typing import Any

import psycopg

from penstock.engine.commands import Command
from penstock.engine.postgres.drivers import Psycopg
from penstock.engine.postgres.render import render
from penstock.sql import render as in_schema

_TIMES = 15


def blocks_of(connection: psycopg.Connection[Any], command: Command[object]) -> int:
    """How many blocks the command looks at, whatever it calls included."""
    statement = render(command)
    explain = f"explain (analyze, buffers, timing off, format json) {in_schema(statement.text, 'penstock')}"
    row = connection.execute(explain.encode(), statement.params).fetchone()
    assert row is not None
    root = row[0][0]["Plan"]
    return int(root["Shared Hit Blocks"] + root["Shared Read Blocks"])


def usual_blocks(
    connection: psycopg.Connection[Any], command: Command[object], before: Sequence[Command[object]] = ()
) -> int:
    """The same by the median of several times, each undone: the first ones read catalogs and make plans, as does one
    before which other tests have filled the server's queue of invalidations."""
    runner = Psycopg(connection, "penstock")
    costs = []
    for _ in range(_TIMES):
        with connection.transaction(force_rollback=True):
            for each in before:
                runner.run(render(each))
            costs.append(blocks_of(connection, command))
    return int(statistics.median(costs))
