from difflib import unified_diff

import psycopg
import pytest

from penstock.embedded.binaries import Version
from penstock.engine.postgres.migrate import migrate
from tests.sql.dump_schema import COMMITTED, REFRESH, dump_schema, newest_shipped


def test_the_migrations_make_the_committed_schema(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        major = connection.info.server_version // 10_000
    painted_by = Version.of(newest_shipped()).major
    if major != painted_by:
        pytest.skip(f"the schema was dumped from PostgreSQL {painted_by}; that of {major} reads differently")
    migrate(empty_url)
    committed, made = COMMITTED.read_text("utf-8").splitlines(), dump_schema(empty_url).splitlines()
    difference = "\n".join(unified_diff(committed, made, "schema.sql", "what the migrations make", lineterm=""))
    assert not difference, f"if this is what you want, run `{REFRESH}` and commit it:\n{difference}"
