"""What charts say of what workers have reported."""

from datetime import UTC, datetime, timedelta

from penstock import Penstock
from penstock.engine.commands import SummedRuns
from penstock.server.dashboard.charts import charts_of
from tests.server.dashboard.browsing import Browser


def step(minute: int, succeeded: int = 0, failed: int = 0) -> SummedRuns:
    at = datetime(2026, 11, 16, 12, minute, tzinfo=UTC)
    ran = [0, 0, 0, 0, succeeded] if succeeded else []
    return SummedRuns(at, "", succeeded, failed, 2 * failed, 0, ran, ran, 0.01 * succeeded, 0.01 * succeeded)


def test_the_step_that_is_not_over_is_left_out_unless_it_is_all_there_is() -> None:
    runs, took, failures = charts_of("1h", [step(0, 10), step(1), step(2, 3, 1)])
    assert runs.times == ["2026-11-16 12:00", "2026-11-16 12:01"]
    assert runs.series[0]["values"] == [10, 0]
    assert took.series[1]["values"][1] is None, "nothing ran, so nothing took any time"
    assert 0.008 <= (took.series[1]["values"][0] or 0) <= 0.016
    assert [each["name"] for each in failures.series] == ["given up", "tried again"]
    assert charts_of("1h", [step(0), step(1, 5)])[0].series[0]["values"] == [0, 5]
    assert charts_of("24h", [step(0, 30), step(15)])[0].series[0]["values"] == [2]


async def test_the_overview_and_a_queue_draw_what_was_reported(operator: Browser, app: Penstock) -> None:
    async with app.atransaction() as connection:
        await connection.execute(
            "insert into penstock.statistics (seconds, at, queue, kind, succeeded, failed, retried, cancelled,"
            " waited, ran, waited_seconds, ran_seconds)"
            " select 60, %s, queue, '', 4321, 7, 9, 0, '{0,4321}', '{0,0,4321}', 1, 1"
            " from unnest(array['', 'mail']) as queue",
            [datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)],
        )
        await connection.execute(
            "insert into penstock.depths (at, queue, ready, running)"
            " select %s - n * interval '1 minute', 'mail', 8642, 3 from generate_series(1, 3) as n",
            [datetime.now(UTC).replace(second=0, microsecond=0)],
        )
    await app.queues.aset("mail", max_running=2)
    for page in ("/", "/queues/mail", "/?over=6h", "/?over=24h", "/?over=7d"):
        text = (await operator.get(page)).text
        assert text.count("<penstock-chart") == (4 if "mail" in page else 3), page
        assert ("8642" in text) == ("mail" in page)
        assert "4321" in text or "over=" in page
        assert "as a table" in text
    assert "4,321" in (await operator.get("/")).text
    assert (await operator.get("/?over=ever")).status_code == 422
