"""What a call costs, in blocks that Postgres looks at: no busy machine can change that."""

import statistics
from collections.abc import Sequence
from typing import Any

import psycopg

from penstock.engine.call import Call
from penstock.engine.postgres.drivers import Psycopg
from penstock.sql import render

_TIMES = 15


def blocks_of(connection: psycopg.Connection[Any], call: Call[object]) -> int:
    """How many blocks the call looks at, whatever it calls included."""
    explain = f"explain (analyze, buffers, timing off, format json) {render(call.text, 'penstock')}"
    row = connection.execute(explain.encode(), call.params).fetchone()
    assert row is not None
    root = row[0][0]["Plan"]
    return int(root["Shared Hit Blocks"] + root["Shared Read Blocks"])


def usual_blocks(connection: psycopg.Connection[Any], call: Call[object], before: Sequence[Call[object]] = ()) -> int:
    """The same by the median of several times, each undone: the first ones read catalogs and make plans, as does one
    before which other tests have filled the server's queue of invalidations."""
    runner = Psycopg(connection, "penstock")
    costs = []
    for _ in range(_TIMES):
        with connection.transaction(force_rollback=True):
            for each in before:
                runner.run(each)
            costs.append(blocks_of(connection, call))
    return int(statistics.median(costs))
