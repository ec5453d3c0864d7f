"""The engine: what it can be asked for, as values (`commands`), and who answers: Postgres, a server over
HTTP, or BullMQ in Redis."""

from penstock.engine import commands
from penstock.engine.cursor import Cursor

__all__ = ["Cursor", "commands"]
