"""The engine: calls of the SQL functions as values, and two thin ways to run them."""

from penstock.engine import calls
from penstock.engine.cursor import Cursor
from penstock.engine.postgres.engine import PostgresEngine

__all__ = ["Cursor", "PostgresEngine", "calls"]
