"""Working without a database connection: the engine as a worker needs it, over the HTTP API."""

from penstock.engine.http.answers import ApiUnreachable, KeyRefused, NoDatabase
from penstock.engine.http.client import HttpEngine

__all__ = ["ApiUnreachable", "HttpEngine", "KeyRefused", "NoDatabase"]
