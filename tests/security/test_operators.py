"""What operators see and do is closed to users and to nobody in particular: by SQL, whatever they name."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock import Penstock
from tests.sql.neighbours import ALICE, acting, assert_refused, claims_of

TABLES = ("operations", "audit", "reports", "statistics", "depths", "failures", "vitals", "quota_use", "usage_sums")
CALLS = (
    "search_jobs()", "preview_operation('cancel', '{\"kind\": \"work\"}')",
    "start_operation(penstock.uuid7(), 'cancel', '{\"kind\": \"work\"}', '{}', 'me')", "continue_operation()",
    "cancel_operation(penstock.uuid7(), 'me')", "move_jobs('{}', 'mine')", "set_priority('{}', 9)",
    "add_audit('me', 'nothing', null)", "report_statistics(1)", "statistics_series(now(), 60)",
    "depth_series(now(), 60)", "error_groups(now())", "queue_overview()", "sum_usage('2020-01-01')",
    "dead_jobs()", "ended_jobs()",
)  # fmt: skip


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("role", "claims"), [("authenticated", claims_of(ALICE)), ("anon", '{"role": "anon"}')], ids=["a user", "nobody"]
)
def test_nothing_of_operators_is_for_others(
    connection: psycopg.Connection[Any], url: str, role: str, claims: str
) -> None:
    with Penstock(url) as app:
        app.operator("ada").pause_queue("default")
    for table in TABLES:
        for statement in (f"select * from penstock.{table}", f"delete from penstock.{table}"):
            with acting(connection, role, claims):
                assert_refused(connection, statement)
    for call in CALLS:
        with acting(connection, role, claims):
            assert_refused(connection, f"select penstock.{call}")
    assert connection.execute("select who, action from penstock.audit").fetchall() == [("ada", "pause_queue")]
