"""The engine on Postgres."""
