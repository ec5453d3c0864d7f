"""Working without a database connection: the engine as a worker needs it, over the HTTP API."""

from penstock.engine import PostgresEngine
from penstock.engine.http.client import RemoteEngine
from penstock.engine.http.errors import ApiUnreachable, KeyRefused, NoDatabase

Engine = PostgresEngine | RemoteEngine
"""What a worker lives on."""

__all__ = ["ApiUnreachable", "Engine", "KeyRefused", "NoDatabase", "RemoteEngine"]
