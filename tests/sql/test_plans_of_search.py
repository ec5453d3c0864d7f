"""A search walks by an index that is in the order of ids, and stops: it never counts, sorts or reads a table whole."""

from psycopg.types.json import Jsonb

from penstock.engine import commands
from tests.sql.explain import Explained
from tests.sql.plan_rules import check

A_PAGEFUL = 20
BY_ID = {"jobs_pkey", "history_pkey"}
WALKS: tuple[tuple[dict[str, str], set[str]], ...] = (
    ({}, BY_ID),
    ({"kind": "none"}, BY_ID),
    ({"owner": "owner 10", "kind": "crowd"}, {"jobs_owner", "history_owner"}),
    ({"queue": "busy", "state": "failed"}, {"history_given_up"}),
    ({"state": "succeeded"}, {"history_pkey"}),
    ({"error": "nothing says so"}, {"errors_pkey", *BY_ID}),
    ({"state": "failed"}, {"errors_pkey", *BY_ID}),
)
OLDEST_FIRST = "select from penstock.search_jobs(%s, null, %s, p_after => '00000000-0000-0000-0000-000000000000')"


def test_a_search_walks_by_ids_and_stops(explained: Explained) -> None:
    for filter, indexes in WALKS:
        before = None
        with explained.recording() as recorded:
            for _ in range(2):
                page = explained.run(commands.SearchJobs(filter, before, A_PAGEFUL))
                before = page.next or before
            explained.connection.execute(OLDEST_FIRST, [Jsonb(filter), A_PAGEFUL])
        plans = [plan for plan in recorded if "as fits from penstock." in plan.text]
        # a block for each row that it looks at, at most, and some levels of each partition's index
        check(plans, {"as fits from penstock.": indexes}, most_blocks=100_000, planned_anew=True)
        assert all(plan.sorted_rows <= A_PAGEFUL for plan in plans)
