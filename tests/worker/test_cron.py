"""Firing schedules: one job for each tick, whoever tries and whatever happened meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock.cron import CatchUp, RecordedSchedule, Schedule
from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.worker import cron
from penstock.worker.cron import Cron, fire_due
from tests.kit.fixtures import Connect

EngineAt = Callable[[str], PostgresEngine]


@pytest.fixture
async def engine_at(url: str) -> AsyncIterator[EngineAt]:
    """Makes engines for which it is this time of the first of May 2025 (UTC), or of another day."""
    made: list[PostgresEngine] = []

    def make(time: str) -> PostgresEngine:
        moment = time if "T" in time else f"2025-05-01T{time}"
        address = make_conninfo(url, options=f"-c penstock_clock.now={moment}Z")
        made.append(PostgresEngine(lambda: address))
        return made[-1]

    yield make
    for engine in made:
        await engine.aclose()


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


def hourly(name: str = "hourly", **about: Any) -> Schedule:
    return Schedule(**{"name": name, "cron": "0 * * * *", "kind": "work"} | about)


def fired(watch: psycopg.Connection[Any]) -> list[str]:
    """The ticks of the jobs there are, as hour and minute."""
    rows = watch.execute("select options->>'tick' from penstock.all_jobs order by 1").fetchall()
    return [f"{datetime.fromisoformat(tick):%H:%M}" for (tick,) in rows]


async def recorded(engine: PostgresEngine, name: str = "hourly") -> RecordedSchedule:
    [schedule] = (await engine.arun(commands.ListSchedules([name]))).schedules
    return schedule


async def fire(engine: PostgresEngine, *code: Schedule, database: bool = False) -> int:
    return await fire_due(engine, code, database=database)


async def test_a_schedule_fires_at_its_tick_and_not_before(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    assert await fire(engine_at("09:30"), hourly()) == 0
    assert await fire(engine_at("09:59:59"), hourly()) == 0
    assert await fire(engine_at("10:00:00"), hourly()) == 1
    assert await fire(engine_at("10:00:01"), hourly()) == 0
    assert fired(watch) == ["10:00"]


async def test_its_job_is_as_the_schedule_says_and_knows_its_tick(engine_at: EngineAt) -> None:
    told = {"queue": "slow", "priority": 3, "max_attempts": 2, "owner": "ada", "options": {"timeout": 9}}
    schedule = hourly(args={"n": 1}, options=told)
    await fire(engine_at("09:30"), schedule)
    await fire(engine := engine_at("10:00"), schedule)
    now = await recorded(engine)
    assert (now.last_tick, now.next_tick) == (moment("10:00"), moment("11:00"))
    assert now.last_job
    job = await engine.arun(commands.GetJob(now.last_job))
    assert job
    assert (job.kind, job.args, job.queue, job.priority, job.max_attempts) == ("work", {"n": 1}, "slow", 3, 2)
    assert job.options == {"timeout": 9, "schedule": "hourly", "tick": "2025-05-01T10:00:00Z"}


async def test_of_twenty_who_fire_one_tick_at_once_one_makes_the_job(
    engine_at: EngineAt, watch: psycopg.Connection[Any]
) -> None:
    await fire(engine_at("09:30"), hourly())
    engines = [engine_at("10:00") for _ in range(20)]
    # all have looked and found it due before the first one fires
    ready = [await engine.arun(commands.ListSchedules(["hourly"])) for engine in engines]
    assert all(schedule.next_tick == each.now for each in ready for schedule in each.schedules)
    fire_it = commands.FireSchedules([commands.Tick("hourly", moment("10:00"), moment("11:00"))])
    jobs = await asyncio.gather(*(engine.arun(fire_it) for engine in engines))
    assert sum(job is not None for [job] in jobs) == 1
    assert sum(await asyncio.gather(*(fire(engine, hourly()) for engine in engines))) == 0
    assert fired(watch) == ["10:00"]


async def test_twenty_loops_make_one_job_of_each_second(url: str, watch: psycopg.Connection[Any]) -> None:
    engines = [Counted(url) for _ in range(20)]
    loops = [Cron(engine, [hourly(cron="* * * * * *", catch_up="all")], lambda: False) for engine in engines]
    for loop in loops:
        loop.start()
    async with asyncio.timeout(30):
        while len(ticks := seconds_fired(watch)) < 4:
            await engines[0].called.acquire()
    for loop in loops:
        await loop.stop()
    for engine in engines:
        await engine.aclose()
    assert ticks == [ticks[0] + timedelta(seconds=n) for n in range(len(ticks))]


def seconds_fired(watch: psycopg.Connection[Any]) -> list[datetime]:
    rows = watch.execute("select (options->>'tick')::timestamptz from penstock.jobs order by 1").fetchall()
    return [tick for (tick,) in rows]


@pytest.mark.parametrize(
    ("catch_up", "back_at", "expected"),
    [
        ("none", "14:30", []),
        ("none", "14:00:40", ["14:00"]),
        ("one", "14:30", ["14:00"]),
        ("one", "14:00:40", ["14:00"]),
        ("all", "14:30", ["10:00", "11:00", "12:00", "13:00", "14:00"]),
    ],
)
async def test_after_a_pause_what_was_missed_is_caught_up_as_the_policy_says(
    engine_at: EngineAt, watch: psycopg.Connection[Any], catch_up: CatchUp, back_at: str, expected: list[str]
) -> None:
    schedule = hourly(catch_up=catch_up)
    await fire(engine_at("09:30"), schedule)
    back = engine_at(back_at)
    assert await fire(back, schedule) == len(expected)
    assert fired(watch) == expected
    assert (await recorded(back)).next_tick == moment("15:00")
    assert await fire(back, schedule) == 0
    assert await fire(engine_at("15:00"), schedule) == 1


async def test_catching_up_all_ends_at_a_thousand(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    schedule = hourly(cron="* * * * *", catch_up="all")
    await fire(engine_at("00:00:30"), schedule)
    assert await fire(engine_at("23:00:30"), schedule) == 1000
    assert fired(watch)[-1] == "23:00"


async def test_a_paused_schedule_fires_nothing_and_goes_on_from_where_it_is_resumed(
    engine_at: EngineAt, watch: psycopg.Connection[Any]
) -> None:
    schedule = hourly(catch_up="all")
    await fire(engine_at("09:30"), schedule)
    await engine_at("09:40").arun(commands.PauseSchedule("hourly"))
    assert await fire(engine_at("10:00"), schedule) == 0
    # nor does a new definition wake it
    changed = hourly(cron="30 * * * *", catch_up="all")
    assert await fire(engine_at("11:30"), changed) == 0
    assert (await recorded(engine_at("11:30"))).paused
    await engine_at("12:40").arun(commands.ResumeSchedule("hourly", moment("13:30")))
    assert await fire(engine_at("12:45"), changed) == 0
    assert await fire(engine_at("13:30"), changed) == 1
    assert fired(watch) == ["13:30"]


async def test_a_schedule_that_was_paused_by_hand_is_paused(
    engine_at: EngineAt, watch: psycopg.Connection[Any]
) -> None:
    await fire(engine_at("09:30"), hourly())
    watch.execute("update penstock.schedules set paused = true")
    engine = engine_at("10:00")
    assert await fire(engine, hourly()) == 0
    assert await engine.arun(commands.FireSchedules([commands.Tick("hourly", moment("10:00"), moment("11:00"))])) == [
        None
    ]


async def test_new_times_count_from_now_and_fire_nothing_of_the_past(
    engine_at: EngineAt, watch: psycopg.Connection[Any]
) -> None:
    await fire(engine_at("00:30"), hourly(catch_up="all"))
    often = hourly(cron="* * * * *", catch_up="all")
    assert await fire(engine_at("09:30:30"), often) == 0
    assert (await recorded(engine_at("09:30:30"))).next_tick == moment("09:31")
    assert await fire(engine_at("09:31"), often) == 1
    elsewhere = hourly(cron="* * * * *", catch_up="all", tz="Asia/Kolkata")
    assert await fire(engine_at("12:00"), elsewhere) == 0
    assert fired(watch) == ["09:31"]


async def test_new_arguments_leave_the_ticks_as_they_are(engine_at: EngineAt) -> None:
    await fire(engine_at("09:30"), hourly())
    changed = hourly(args={"n": 2}, kind="other")
    engine = engine_at("10:00:10")
    assert await fire(engine, changed) == 1
    last = (await recorded(engine)).last_job
    assert last
    job = await engine.arun(commands.GetJob(last))
    assert job
    assert (job.kind, job.args) == ("other", {"n": 2})


async def test_an_older_worker_fires_the_newer_definition(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    await fire(engine_at("09:30"), hourly())
    await fire(engine_at("09:40"), hourly(cron="30 * * * *"))
    # a worker that has been running since before the change: it does not record its own again
    at_ten, _ = await cron.fire(engine_at("10:00"), [hourly()], database=False)
    at_half_past, until_next = await cron.fire(engine_at("10:30"), [hourly()], database=False)
    assert (at_ten, at_half_past) == (0, 1)
    assert until_next == 30 * 60
    assert fired(watch) == ["10:30"]


async def test_a_tick_of_times_that_were_given_up_is_refused(engine_at: EngineAt) -> None:
    await fire(engine_at("09:30"), hourly())
    await fire(engine := engine_at("09:40"), hourly(cron="30 12 * * *"))
    assert await engine.arun(commands.FireSchedules([commands.Tick("hourly", moment("10:00"), moment("11:00"))])) == [
        None
    ]


async def test_a_removed_schedule_fires_nothing(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    await fire(engine_at("09:30"), hourly())
    assert await (engine := engine_at("10:00")).arun(commands.RemoveSchedule("hourly"))
    assert await cron.fire(engine, [hourly()], database=True) == (0, 3600)
    assert await engine.arun(commands.FireSchedules([commands.Tick("hourly", moment("10:00"), moment("11:00"))])) == [
        None
    ]
    assert not await engine.arun(commands.RemoveSchedule("hourly"))
    assert fired(watch) == []


async def test_schedules_of_the_database_are_left_to_whoever_leads(
    engine_at: EngineAt, watch: psycopg.Connection[Any]
) -> None:
    await engine_at("09:30").arun(commands.SetSchedule.of(hourly("theirs"), "database", moment("10:00")))
    assert await fire(engine_at("10:00"), hourly("ours")) == 0
    assert await fire(engine_at("10:00"), hourly("ours"), database=True) == 1
    # one of code that nobody here has is nobody's
    await engine_at("10:30").arun(commands.SetSchedule.of(hourly("gone"), "code", moment("11:00")))
    assert await fire(engine_at("11:00"), database=True) == 1
    assert fired(watch) == ["10:00", "11:00"]


async def test_what_plain_sql_sets_up_is_planned_and_fired(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    watch.execute("select penstock.set_schedule('sql', '0 3 * * *', 'work', p_tz => 'Europe/Berlin')")
    assert await fire(engine := engine_at("00:30"), database=True) == 0
    assert (await recorded(engine, "sql")).next_tick == moment("01:00")
    assert await fire(engine_at("01:00"), database=True) == 1


async def test_a_schedule_nobody_can_read_does_not_keep_the_others_from_their_ticks(
    engine_at: EngineAt, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    watch.execute("select penstock.set_schedule('bad', '0 3 * * someday', 'work')")
    watch.execute("select penstock.set_schedule('lost', '0 3 * * *', 'work', p_tz => 'Europe/Atlantis')")
    await fire(engine_at("09:30"), hourly(), database=True)
    assert await fire(engine_at("10:00"), hourly(), database=True) == 1
    assert "schedule bad cannot be fired: cron: '0 3 * * someday' is no cron expression" in caplog.text
    assert "schedule lost cannot be fired: tz: there is no time zone 'Europe/Atlantis'" in caplog.text


async def test_of_many_schedules_all_that_are_due_are_fired_and_no_other_is_read(
    engine_at: EngineAt, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cron, "_AT_ONCE", 5)
    watch.execute(
        """insert into penstock.schedules
             (name, cron, tz, kind, args, catch_up, options, source, next_tick, created_at)
           select 'number ' || n, '0 * * * *', 'UTC', 'work', '{}', 'one', '{}', 'database',
                  case when n <= 12 then timestamptz '2025-05-01T10:00Z' when n <= 40 then '2025-05-01T11:00Z' end,
                  now()
             from generate_series(1, 42) as n"""
    )
    engine = engine_at("10:00")
    seen = await engine.arun(commands.DueSchedules([], database=True))
    assert {each.name for each in seen.schedules} == {f"number {n}" for n in [*range(1, 13), 41, 42]}
    assert seen.next == moment("11:00")
    assert await fire(engine, database=True) == 12
    assert await fire(engine, database=True) == 0
    planned = watch.execute("select count(*) from penstock.schedules where next_tick = '2025-05-01T11:00Z'").fetchone()
    assert planned == (42,)


async def test_one_that_cannot_be_enqueued_does_not_keep_those_of_its_statement_from_their_ticks(
    engine_at: EngineAt, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    schedules = [hourly(name) for name in ("first", "second", "third")]
    await fire(engine_at("09:30"), *schedules)
    watch.execute("update penstock.schedules set options = '{\"queue\": \"\"}' where name = 'second'")
    # by the database's definition: recording the code's own would mend it
    assert await cron.fire(engine_at("10:00"), schedules, database=False) == (2, 3600.0)
    assert fired(watch) == ["10:00", "10:00"]
    assert "schedule second cannot be fired" in caplog.text


async def test_one_that_plain_sql_has_spoilt_does_not_keep_the_others_from_their_ticks(
    engine_at: EngineAt, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """By what Postgres itself says of it, which is no error of ours."""
    schedules = [hourly(name) for name in ("first", "second", "third")]
    await fire(engine_at("09:30"), *schedules)
    watch.execute("update penstock.schedules set options = '{\"priority\": \"high\"}' where name = 'second'")
    assert await cron.fire(engine_at("10:00"), schedules, database=False) == (2, 3600.0)
    assert "schedule second cannot be fired: invalid input syntax for type integer" in caplog.text


async def test_one_that_the_database_refuses_does_not_keep_the_others_from_their_ticks(
    engine_at: EngineAt, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Of the code, which is recorded before anything is fired."""
    refused = hourly("first", options={"no_such": "option"})
    others = [hourly("second"), hourly("third", options={"queue": "nul\x00"}), hourly("fourth")]
    assert await fire(engine_at("09:30"), refused, *others) == 0
    assert await fire(engine_at("10:00"), refused, *others) == 2
    assert fired(watch) == ["10:00", "10:00"]
    assert "schedule first cannot be recorded: no_such: no such option of a schedule" in caplog.text
    assert "schedule third cannot be recorded: " in caplog.text


async def test_a_unique_job_does_not_pile_up(engine_at: EngineAt, watch: psycopg.Connection[Any]) -> None:
    schedule = hourly(options={"unique_key": "k"})
    await fire(engine_at("09:30"), schedule)
    first = await fire(engine_at("10:00"), schedule)
    second = await fire(engine := engine_at("11:00"), schedule)
    assert (first, second) == (1, 1)
    assert fired(watch) == ["10:00"]
    assert (await recorded(engine)).last_tick == moment("11:00")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'', '0 3 * * *', 'work'", "name: must not be empty"),
        ("'a', '0 3 * *', 'work'", "cron: 0 3 [*] [*] is no cron expression of five or six fields"),
        ("'a', null, 'work'", "cron: null is no cron expression"),
        ("'a', '0 3 * * *', ''", "kind: must not be empty"),
        ("'a', '0 3 * * *', 'work', '[]'", "args: must be a JSON object"),
        ("'a', '0 3 * * *', 'work', p_tz => ''", "tz: must not be empty"),
        ("'a', '0 3 * * *', 'work', p_catch_up => 'two'", "catch_up: two is none of none, one, all"),
        ("'a', '0 3 * * *', 'work', p_options => '[]'", "options: must be a JSON object"),
        ("""'a', '0 3 * * *', 'work', p_options => '{"max_attempts": 0}'""", "max_attempts: must be at least 1"),
        ("""'a', '0 3 * * *', 'work', p_options => '{"run_at": "2030-01-01"}'""", "run_at: no such option of a sch"),
        ("'taken', '0 3 * * *', 'work'", "name: taken is a schedule of the code"),
    ],
)
def test_plain_sql_is_refused_what_makes_no_sense_by_name(
    watch: psycopg.Connection[Any], call: str, message: str
) -> None:
    watch.execute("select penstock.set_schedule('taken', '0 1 * * *', 'work', p_source => 'code')")
    with pytest.raises(psycopg.DatabaseError, match=f"^{message}"):
        watch.execute(f"select penstock.set_schedule({call})".encode())
    assert watch.execute("select name, cron from penstock.schedules").fetchall() == [("taken", "0 1 * * *")]


def moment(time: str) -> datetime:
    return datetime.fromisoformat(f"2025-05-01T{time}").replace(tzinfo=UTC)


class Counted(PostgresEngine):
    """Counts the calls, and tells of each."""

    def __init__(self, url: str) -> None:
        super().__init__(lambda: url)
        self.called = asyncio.Semaphore(0)
        self.calls = 0

    async def arun(self, call: Any, /) -> Any:
        try:
            return await super().arun(call)
        finally:
            self.calls += 1
            self.called.release()


@pytest.fixture
async def counted(url: str) -> AsyncIterator[Counted]:
    engine = Counted(url)
    yield engine
    await engine.aclose()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker asks itself a hundred times a second whether it leads."""
    monkeypatch.setattr(cron, "_LOOK_EVERY", 0.01)


class Lead:
    """Whether it leads; tells how often it was asked."""

    def __init__(self, leads: bool) -> None:
        self.leads = leads
        self.asked = asyncio.Semaphore(0)

    def __call__(self) -> bool:
        self.asked.release()
        return self.leads

    async def asked_times(self, times: int) -> None:
        async with asyncio.timeout(20):
            for _ in range(times):
                await self.asked.acquire()


@pytest.fixture(params=[[], [hourly("new year", cron="0 0 1 1 *")]], ids=["without schedules", "with one"])
def code(request: pytest.FixtureRequest) -> Sequence[Schedule]:
    schedules: Sequence[Schedule] = request.param
    return schedules


@pytest.mark.usefixtures("impatient")
async def test_between_ticks_a_worker_that_does_not_lead_asks_nothing(
    counted: Counted, code: Sequence[Schedule]
) -> None:
    lead = Lead(False)
    loop = Cron(counted, code, lead)
    loop.start()
    await lead.asked_times(3)
    at_first = counted.calls
    # recording it is two calls, and looking for the first tick is one
    assert at_first == (3 if code else 0)
    await lead.asked_times(20)
    assert counted.calls == at_first
    await loop.stop()


@pytest.mark.usefixtures("impatient")
async def test_whoever_comes_to_lead_fires_the_database_s_schedules(
    counted: Counted, watch: psycopg.Connection[Any], code: Sequence[Schedule]
) -> None:
    past = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    daily = hourly("daily", cron=f"{past.minute} {past.hour} * * *")
    counted.run(commands.SetSchedule.of(daily, "database", past))
    lead = Lead(False)
    loop = Cron(counted, code, lead)
    loop.start()
    await lead.asked_times(5)
    assert watch.execute("select count(*) from penstock.jobs").fetchone() == (0,)
    lead.leads = True
    before = counted.calls
    async with asyncio.timeout(20):
        while counted.calls < before + 3:
            await counted.called.acquire()
    await loop.stop()
    assert watch.execute("select count(*) from penstock.jobs").fetchone() == (1,)


async def test_a_loop_whose_connections_are_cut_goes_on(counted: Counted, watch: psycopg.Connection[Any]) -> None:
    loop = Cron(counted, [hourly(cron="* * * * * *")], lambda: False)
    loop.start()
    async with asyncio.timeout(30):
        while not (before := seconds_fired(watch)):
            await counted.called.acquire()
        watch.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
            "and pid <> pg_backend_pid()"
        )
        while len(seconds_fired(watch)) < len(before) + 2:
            await counted.called.acquire()
    await loop.stop()


async def test_a_loop_records_what_it_could_not_as_soon_as_the_database_takes_it(
    counted: Counted, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    watch.execute("alter table penstock.schedules add constraint not_yet check (false)")
    loop = Cron(counted, [hourly(cron="* * * * * *")], lambda: False)
    loop.start()
    async with asyncio.timeout(30):
        while "schedule hourly cannot be recorded" not in caplog.text:
            await counted.called.acquire()
        watch.execute("alter table penstock.schedules drop constraint not_yet")
        while not seconds_fired(watch):
            await counted.called.acquire()
    await loop.stop()
