from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock import InvalidInput
from penstock.cron import MISSED_AFTER, MOST_AT_ONCE, CatchUp, Schedule, due_ticks, next_tick, ticks_between
from penstock.job import NewJob

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
# In 2025 clocks go forward from 2:00 to 3:00 on these days, and back on those: in Berlin from 3:00 to 2:00, in New York
# from 2:00 to 1:00.
SPRING = {BERLIN: (2025, 3, 30), NEW_YORK: (2025, 3, 9)}
AUTUMN = {BERLIN: (2025, 10, 26), NEW_YORK: (2025, 11, 2)}
ZONES = pytest.mark.parametrize("tz", [BERLIN, NEW_YORK])


def ticks_of_day(cron: str, tz: str, day: tuple[int, int, int]) -> list[str]:
    """The ticks of a day as its own wall clock shows them, with the offset from UTC."""
    zone = ZoneInfo(tz)
    start = datetime(*day, tzinfo=zone)
    end = start + timedelta(days=1)
    ticks = ticks_between(cron, tz, start - timedelta(seconds=1), end - timedelta(seconds=1))
    return [tick.astimezone(zone).strftime("%H:%M%z") for tick in ticks]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@ZONES
def test_a_time_that_spring_leaves_out_comes_once_when_the_gap_is_over(tz: str) -> None:
    summer = {BERLIN: "+0200", NEW_YORK: "-0400"}[tz]
    assert ticks_of_day("30 2 * * *", tz, SPRING[tz]) == [f"03:00{summer}"]


@ZONES
def test_a_time_that_autumn_repeats_comes_once_the_first_time(tz: str) -> None:
    hour, summer = {BERLIN: (2, "+0200"), NEW_YORK: (1, "-0400")}[tz]
    assert ticks_of_day(f"30 {hour} * * *", tz, AUTUMN[tz]) == [f"{hour:02}:30{summer}"]


@ZONES
@pytest.mark.parametrize(("days", "hours"), [(SPRING, 23), (AUTUMN, 25)], ids=["spring", "autumn"])
def test_an_hourly_schedule_keeps_its_hours_through_a_clock_change(
    tz: str, days: dict[str, tuple[int, int, int]], hours: int
) -> None:
    assert len(ticks_of_day("15 * * * *", tz, days[tz])) == hours
    start = datetime(*days[tz], tzinfo=ZoneInfo(tz))
    ticks = ticks_between("15 * * * *", tz, start, start + timedelta(days=2))
    assert {later - earlier for earlier, later in pairwise(ticks)} == {timedelta(hours=1)}


def test_within_the_repeated_hour_a_tick_of_its_first_time_is_over() -> None:
    # 2:15 for the second time: 2:30 has been, 105 minutes ago by the sun
    again = at("2025-10-26T02:15+01:00")
    assert next_tick("30 2 * * *", BERLIN, again) == at("2025-10-27T02:30+01:00")
    assert ticks_between("30 2 * * *", BERLIN, at("2025-10-25T12:00Z"), again) == [at("2025-10-26T02:30+02:00")]


def test_ticks_are_in_utc_and_by_the_wall_clock_of_their_zone() -> None:
    assert next_tick("0 2 * * *", BERLIN, at("2025-01-01T00:00Z")) == at("2025-01-01T01:00Z")
    assert next_tick("0 2 * * *", BERLIN, at("2025-07-01T00:00Z")) == at("2025-07-02T00:00Z")
    assert next_tick("0 2 * * *", "UTC", at("2025-07-01T00:00Z")).tzinfo is UTC


def test_a_tick_is_after_the_moment_and_up_to_the_end() -> None:
    noon = at("2025-01-01T12:00Z")
    assert next_tick("0 12 * * *", "UTC", noon) == noon + timedelta(days=1)
    assert next_tick("0 12 * * *", "UTC", noon - timedelta(microseconds=1)) == noon
    assert ticks_between("0 12 * * *", "UTC", noon, noon + timedelta(days=1)) == [noon + timedelta(days=1)]


def test_six_fields_begin_with_seconds() -> None:
    assert next_tick("*/10 * * * * *", "UTC", at("2025-01-01T00:00:05Z")) == at("2025-01-01T00:00:10Z")


def test_of_a_year_of_seconds_only_the_last_thousand_are_looked_at() -> None:
    now = at("2025-01-01T00:00Z")
    ticks = ticks_between("* * * * * *", "UTC", now - timedelta(days=365), now)
    assert ticks == [now - timedelta(seconds=age) for age in reversed(range(MOST_AT_ONCE))]


def schedule(catch_up: CatchUp, cron: str = "0 * * * *", tz: str = "UTC") -> Schedule:
    return Schedule(name="hourly", cron=cron, tz=tz, kind="work", catch_up=catch_up)


@pytest.mark.parametrize(
    ("catch_up", "now", "due"),
    [
        ("none", "12:00:59", ["12:00"]),
        ("none", "12:01:00", ["12:00"]),
        ("none", "12:01:01", []),
        ("one", "11:59:00", ["11:00"]),
        ("one", "12:00:01", ["12:00"]),
        ("one", "12:30:00", ["12:00"]),
        ("all", "12:30:00", ["10:00", "11:00", "12:00"]),
        ("all", "10:00:00", ["10:00"]),
        ("all", "09:59:59", []),
    ],
)
def test_of_missed_ticks_those_are_due_that_the_policy_says(catch_up: CatchUp, now: str, due: list[str]) -> None:
    ticks = due_ticks(schedule(catch_up), at("2025-01-01T09:00Z"), at(f"2025-01-01T{now}Z"))
    assert [f"{tick:%H:%M}" for tick in ticks] == due


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
def test_ticks_on_time_are_all_due_whatever_the_policy(catch_up: CatchUp) -> None:
    now = at("2025-01-01T12:00:30Z")
    often = schedule(catch_up, "*/10 * * * * *")
    assert due_ticks(often, now - timedelta(seconds=30), now) == [now - timedelta(seconds=age) for age in (20, 10, 0)]


def test_catching_up_ends_at_a_thousand_the_latest() -> None:
    now = at("2025-06-01T00:00Z")
    due = due_ticks(schedule("all", "* * * * *"), now - timedelta(days=30), now)
    assert len(due) == MOST_AT_ONCE
    assert due[-1] == now


crons = st.builds(
    lambda second, minute, hour, day: " ".join(filter(None, [second, minute, hour, day, "*", "*"])),
    st.sampled_from(["", "", "*/20", "5"]),
    st.sampled_from(["*", "*/7", "0", "30", "0,30", "59"]),
    st.sampled_from(["*", "*/2", "1", "2", "3", "1-3", "0,12"]),
    st.sampled_from(["*", "*", "1", "*/2", "L"]),
)
zones = st.sampled_from([BERLIN, NEW_YORK, "UTC", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago"])
moments = st.one_of(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    # where clocks change
    st.builds(
        lambda day, hours: day + timedelta(hours=hours),
        st.sampled_from([datetime(*day) for days in (SPRING, AUTUMN) for day in days.values()]),
        st.floats(-6, 12),
    ),
).map(lambda moment: moment.replace(tzinfo=UTC))


@settings(deadline=None)
@given(crons, zones, moments)
@example("* */2 */2 * *", "America/Santiago", datetime(2022, 9, 10, 3, tzinfo=UTC))  # midnight is left out
def test_ticks_strictly_increase_and_the_next_one_is_never_passed_over(cron: str, tz: str, start: datetime) -> None:
    moment = start
    for _ in range(10):
        tick = next_tick(cron, tz, moment)
        assert tick > moment
        assert tick == tick.replace(microsecond=0)
        # from just before it, it is found again: where one begins to look makes no difference
        assert next_tick(cron, tz, tick - timedelta(microseconds=1)) == tick
        moment = tick


@settings(deadline=None)
@given(crons, zones, moments, st.timedeltas(timedelta(0), timedelta(hours=30)), st.integers(1, 20))
def test_the_latest_ticks_are_those_that_going_through_all_of_them_ends_with(
    cron: str, tz: str, start: datetime, length: timedelta, most: int
) -> None:
    every, tick = [], start
    while (tick := next_tick(cron, tz, tick)) <= start + length:
        every.append(tick)
        if len(every) > 600:
            return
    assert ticks_between(cron, tz, start, start + length, most=most) == every[-most:]


@settings(deadline=None)
@given(
    crons,
    zones,
    moments,
    st.sampled_from(["none", "one", "all"]),
    st.lists(st.timedeltas(timedelta(0), timedelta(hours=5)), min_size=1, max_size=8),
)
def test_no_tick_is_due_twice_and_none_on_time_is_left_out(
    cron: str, tz: str, start: datetime, catch_up: CatchUp, pauses: list[timedelta]
) -> None:
    fired: list[datetime] = []
    last = now = start
    for pause in pauses:
        now += pause
        due = due_ticks(schedule(catch_up, cron, tz), last, now)
        on_time = ticks_between(cron, tz, max(last, now - MISSED_AFTER), now)
        assert set(on_time) <= set(due)
        assert all(last < tick <= now for tick in due)
        fired += due
        last = max([last, *ticks_between(cron, tz, last, now, most=1)])
    assert fired == sorted(set(fired))


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("cron", {"cron": "61 * * * *"}),
        ("cron", {"cron": "every day"}),
        ("cron", {"cron": ""}),
        ("cron", {"cron": "* * * *"}),
        ("cron", {"cron": "0 0 31 2 *"}),
        ("cron", {"cron": "0 0 * 2 MON#5/2"}),
        ("cron", {"cron": "9" * 5000 + " * * * *"}),
        ("cron", {"cron": None}),
        ("tz", {"tz": "Europe/Berln"}),
        ("tz", {"tz": "Europe"}),
        ("tz", {"tz": "../etc/passwd"}),
        ("tz", {"tz": ""}),
        ("tz", {"tz": "\0"}),
        ("tz", {"tz": None}),
        ("catch_up", {"catch_up": "two"}),
        ("name", {"name": ""}),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field: str, changed: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Schedule.of(NewJob(kind="work"), **{"cron": "0 2 * * *", "tz": BERLIN, "catch_up": "one"} | changed)  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_a_misspelt_time_zone_gets_a_hint() -> None:
    with pytest.raises(
        InvalidInput, match=r"^tz: there is no time zone 'Europe/Berln'; did you mean 'Europe/Berlin'\?$"
    ):
        next_tick("0 2 * * *", "Europe/Berln", at("2025-01-01T00:00Z"))


@given(st.text("0123456789*/-,#LWMONJA ", max_size=20))
def test_whatever_is_written_is_read_or_refused(cron: str) -> None:
    with suppress(InvalidInput):
        assert next_tick(cron, BERLIN, at("2025-01-01T00:00Z")) > at("2025-01-01T00:00Z")


def test_a_schedule_takes_its_job_s_options_but_not_what_is_for_one_job_only() -> None:
    job = NewJob(kind="work", args=b'{"n":1}', queue="slow", max_attempts=2, unique_key="k")
    made = Schedule.of(job, cron="0 2 * * *", tz="UTC", catch_up="one")
    assert (made.name, made.kind, made.args) == ("work", "work", {"n": 1})
    assert made.options == {"queue": "slow", "priority": 0, "max_attempts": 2, "unique_key": "k"}
    for field, once in (
        ("run_at", NewJob(kind="work", run_at=at("2030-01-01T00:00Z"))),
        ("idempotency_key", NewJob(kind="work", idempotency_key="k")),
        ("after", NewJob(kind="work", after=(job.id,))),
    ):
        with pytest.raises(InvalidInput, match=f"^{field}: is for one job, and a schedule makes many$"):
            Schedule.of(once, cron="0 2 * * *", tz="UTC", catch_up="one")
