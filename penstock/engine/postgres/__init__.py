"""The engine on Postgres."""

from penstock.extras import needs_libpq

with needs_libpq():
    import psycopg  # noqa: F401 - first: everything else in here imports it
