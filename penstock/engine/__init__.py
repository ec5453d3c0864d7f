"""The engine: what it can be asked for, as values (`commands`), and who answers: Postgres, or a server over HTTP."""

from penstock.engine import commands
from penstock.engine.cursor import Cursor

__all__ = ["Cursor", "commands"]
