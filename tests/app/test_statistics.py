"""What workers report, as series and as groups of errors."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg.conninfo import make_conninfo

from penstock import InvalidInput, NewJob, Penstock
from penstock.engine import commands
from penstock.engine.commands import AlikeErrors, EndedRuns
from penstock.job import Lease

pytestmark = pytest.mark.needs_session("its clock is an option of the session")

NOON = datetime(2025, 5, 1, 12, 0, 30, tzinfo=UTC)


def at(url: str, moment: datetime) -> Penstock:
    """The application as it is at a time of its own."""
    return Penstock(make_conninfo(url, options=f"-c penstock_clock.now={moment.isoformat()}"))


@pytest.fixture
def noon(url: str) -> Iterator[Penstock]:
    with at(url, NOON) as app:
        yield app


def report(app: Penstock, *runs: EndedRuns, errors: tuple[AlikeErrors, ...] = ()) -> None:
    app.engine.run(commands.ReportStatistics(Lease(0), list(runs), list(errors)))


def failed(
    message: str, kind: str = "send", attempts: int = 1, jobs: int = 1, example: UUID | None = None
) -> AlikeErrors:
    return AlikeErrors(kind, "mail", message, attempts, jobs, example or uuid4(), "OSError")


@pytest.mark.parametrize("folded", [False, True], ids=["as reported", "folded"])
def test_a_series_sums_what_workers_report_step_by_step(noon: Penstock, url: str, folded: bool) -> None:
    with at(url, NOON - timedelta(minutes=2)) as earlier:
        report(earlier, EndedRuns("mail", "send", succeeded=2, ran=[0, 0, 2], ran_seconds=0.006))
        if folded:
            earlier.engine.run(commands.Maintain())
    report(noon, EndedRuns("mail", "send", 3, 1, 2, 1, waited=[4], ran=[0] * 10 + [7], ran_seconds=5.0))
    report(noon, EndedRuns("mail", "other", 5), EndedRuns("slow", "send", 10))
    if folded:
        noon.engine.run(commands.Maintain())
    since = NOON - timedelta(minutes=5)
    series = noon.statistics.series("mail", since=since)
    assert [runs.at.minute for runs in series] == [55, 56, 57, 58, 59, 0]
    assert [runs.succeeded for runs in series] == [0, 0, 0, 2, 0, 8]
    last = series[-1]
    assert (last.failed, last.retried, last.cancelled) == (1, 2, 1)
    assert last.ran.mean == pytest.approx(5 / 7)
    assert last.ran.p50 is not None
    assert 0.512 < last.ran.p50 < 1.024
    assert (last.waited.p50 or 1) < 0.001
    assert series[0].ran.p99 is None
    assert [runs.succeeded for runs in noon.statistics.series(since=since, step=300)] == [2, 18]
    by_queue = noon.statistics.by_queue(since=since)
    assert {queue: sum(runs.succeeded for runs in each) for queue, each in by_queue.items()} == {"mail": 10, "slow": 10}
    hours = noon.statistics.series(kind="send", since=NOON - timedelta(hours=2), step=3600)
    assert [runs.succeeded for runs in hours] == [0, 2, 13]


async def test_what_is_asked_for_must_make_sense_and_has_async_twins(noon: Penstock) -> None:
    since = NOON - timedelta(minutes=5)
    assert len(await noon.statistics.aseries(since=since)) == 6
    assert await noon.statistics.aby_queue(since=since) == {}
    assert await noon.statistics.adepth(since=since) == []
    assert await noon.errors.alist(since=since) == []
    for wrong, message in (
        ({"step": 90}, "step: must be a multiple of 60 seconds, not 90"),
        ({"step": 0}, "step: must be"),
        ({"since": NOON - timedelta(days=30)}, "since: must be at most 2000 steps ago"),
        ({"since": datetime(2025, 1, 1)}, "since: must be a timedelta, or a datetime with a time zone"),
        ({"queue": "mail", "kind": "send", "step": 3600}, "kind: is counted over all queues"),
        ({"kind": "send"}, "step: must be a multiple of 3600"),
    ):
        with pytest.raises(InvalidInput, match=f"^{message}"):
            noon.statistics.series(**({"since": since} | wrong))
    with pytest.raises(InvalidInput, match="step"):
        noon.statistics.depth(step=5)


def test_errors_that_are_alike_are_one_group_with_a_trend(noon: Penstock, url: str) -> None:
    example = uuid4()
    with at(url, NOON - timedelta(hours=3)) as earlier:
        report(earlier, errors=(failed("timed out after <number> s", attempts=5, jobs=0),))
        earlier.engine.run(commands.Maintain())
    report(noon, errors=(failed("timed out after <number> s", example=example), failed("no such file")))
    report(noon, errors=(failed("no such file", kind="read"),))
    noon.engine.run(commands.Maintain())
    groups = noon.errors.list(since=NOON - timedelta(days=1))
    assert [(each.kind, each.message, each.attempts, each.jobs) for each in groups[:1]] == [
        ("send", "timed out after <number> s", 6, 1)
    ]
    assert (groups[0].example, groups[0].last_at, groups[0].type) == (example, NOON, "OSError")
    assert [(each.at.hour, each.attempts) for each in groups[0].trend] == [(9, 5), (12, 1)]
    assert {(each.kind, each.message) for each in groups[1:]} == {("send", "no such file"), ("read", "no such file")}
    assert [each.message for each in noon.errors.list(kind="read", since=NOON - timedelta(days=1))] == ["no such file"]
    assert noon.errors.list(since=NOON - timedelta(hours=1), limit=1)[0].attempts == 1


def test_no_more_than_so_many_errors_of_an_hour_are_told_apart(noon: Penstock) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    report(noon, errors=tuple(failed(f"{one} {other}") for one in letters[:10] for other in letters))
    noon.engine.run(commands.Maintain())
    groups = noon.errors.list(since=NOON - timedelta(hours=1), limit=1000)
    assert len(groups) == 201
    assert (groups[0].message, groups[0].attempts) == ("other errors", 60)


def test_depths_are_noted_once_a_minute(noon: Penstock, url: str) -> None:
    noon.engine.enqueue([NewJob(kind="work") for _ in range(3)])
    for _ in range(2):
        noon.engine.run(commands.Maintain())
    with at(url, NOON + timedelta(minutes=1)) as later:
        later.engine.enqueue([NewJob(kind="work")])
        later.engine.run(commands.Maintain())
        since = NOON - timedelta(minutes=1)
        assert [(depth.at.minute, depth.ready) for depth in later.statistics.depth(since=since)] == [(0, 3), (1, 4)]
        assert [depth.ready for depth in later.statistics.depth("default", since=since, step=3600)] == [4]
        assert later.statistics.depth("none", since=since) == []


def test_statistics_are_forgotten_when_they_are_old(noon: Penstock, url: str) -> None:
    report(noon, EndedRuns("mail", "send", 1), errors=(failed("no"),))
    noon.engine.enqueue([NewJob(kind="work")])
    noon.engine.run(commands.Maintain())
    with at(url, NOON + timedelta(days=3)) as later:
        later.engine.run(commands.Maintain())
        assert sum(runs.succeeded for runs in later.statistics.series(since=NOON - timedelta(hours=2), step=3600)) == 1
        assert len(later.errors.list(since=NOON - timedelta(hours=1))) == 1
    with at(url, NOON + timedelta(days=15)) as much_later:
        much_later.engine.run(commands.Maintain())
        assert sum(runs.succeeded for runs in much_later.statistics.series(since=NOON, step=3600)) == 0
        assert much_later.errors.list(since=NOON - timedelta(hours=1)) == []


def test_jobs_that_end_without_a_worker_are_counted_too(noon: Penstock) -> None:
    ids = [each.id for each in noon.engine.enqueue([NewJob(kind="work") for _ in range(3)])]
    noon.jobs.cancel(*ids)
    assert noon.statistics.series(since=NOON - timedelta(minutes=1))[-1].cancelled == 3
