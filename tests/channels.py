"""Listening to the engine's notifications, as whoever may read the channels' names."""

from typing import Any

import psycopg
from psycopg import sql

from penstock.engine import commands
from penstock.engine.postgres.drivers import Psycopg, run_one


def listen(connection: psycopg.Connection[Any], *sorts: str, schema: str = "penstock") -> dict[str, str]:
    """From here on the connection hears these; what each channel is for."""
    channels = run_one(Psycopg(connection, schema), commands.GetChannels(), schema)
    names = {getattr(channels, sort): sort for sort in sorts}
    for name in names:
        connection.execute(sql.SQL("listen {}").format(sql.Identifier(name)))
    return names
