"""A private, real Postgres, shared by every process that names the same folder.

    with embedded.start() as postgres:
        psycopg.connect(postgres.url)

`locks.py` says how the processes agree with each other, `keeper.py` is the process that owns the server.
"""

from penstock.embedded.errors import EmbeddedError
from penstock.embedded.server import EmbeddedPostgres, running_url, start, stop

__all__ = ["EmbeddedError", "EmbeddedPostgres", "running_url", "start", "stop"]
