"""Working without a database connection: the engine as a worker needs it, over the HTTP API."""

from penstock.engine.http.client import HttpEngine
from penstock.engine.http.errors import ApiUnreachable, KeyRefused, NoDatabase

__all__ = ["ApiUnreachable", "HttpEngine", "KeyRefused", "NoDatabase"]
