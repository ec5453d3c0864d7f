"""A job platform on the Postgres you already have."""
