"""The engine's clock, for all sessions at once: the real one and an offset."""

from typing import Any

import psycopg

CLOCK = """
    create table chaos.clock (ahead interval not null);
    insert into chaos.clock values ('0');
    create or replace function penstock.clock()
    returns timestamptz
    language sql volatile
    as 'select clock_timestamp() + ahead from chaos.clock';
"""


def move_clock(connection: psycopg.Connection[Any], hours: float) -> None:
    connection.execute("update chaos.clock set ahead = make_interval(secs => %s)", [hours * 3600])
