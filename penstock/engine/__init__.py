"""The engine: what it can be asked for, as values (`commands`), and who answers: Postgres, or a server over HTTP."""

from penstock.engine import commands
from penstock.engine.cursor import Cursor
from penstock.engine.postgres.engine import PostgresEngine

__all__ = ["Cursor", "PostgresEngine", "commands"]
