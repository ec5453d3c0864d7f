"""Faults of an engine, whichever it is: what to try again after, and what a value raises that cannot be stored."""

import psycopg

from penstock.engine.postgres.errors import is_lost

FAULTS = (psycopg.Error, OSError, TimeoutError)
UNREACHABLE = (psycopg.Error, OSError)
UNSTORABLE = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, ValueError, TypeError)
"""What a value raises that Postgres, or the text on its way there, cannot hold."""

__all__ = ["FAULTS", "UNREACHABLE", "UNSTORABLE", "is_lost"]
