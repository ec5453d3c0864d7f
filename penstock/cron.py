"""When a schedule's ticks come, and which of them are due: pure functions of the time they are told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import islice, takewhile
from typing import Any, Literal, get_args
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from cronsim import CronSim, CronSimError

from penstock.errors import InvalidInput
from penstock.job import NewJob

CatchUp = Literal["none", "one", "all"]
"""What becomes of ticks that nobody was there for."""

Source = Literal["code", "database"]

MISSED_AFTER = timedelta(minutes=1)
"""A tick younger than this is on time, whatever kept the worker."""

MOST_AT_ONCE = 1000
"""Ticks that catching up fires at most: the latest."""

# what cronsim lets slip for odd input besides its own error: a failed assertion, a number of 5,000 digits
_UNREADABLE = (CronSimError, AssertionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A job to be enqueued at each tick of a cron expression in a time zone.

    `options` say how: the fields of a NewJob besides its kind and arguments.
    """

    name: str
    cron: str
    kind: str
    args: Mapping[str, Any] = field(default_factory=dict)
    tz: str = "UTC"
    catch_up: CatchUp = "one"
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, job: NewJob, *, cron: str, tz: str, catch_up: CatchUp, name: str | None = None) -> "Schedule":
        """The schedule that enqueues jobs like this one, named after its kind unless told otherwise."""
        for once in ("run_at", "after", "idempotency_key"):
            if getattr(job, once):
                raise InvalidInput(once, "is for one job, and a schedule makes many")
        told = {name: value for name, value in job.to_json().items() if name not in ("id", "kind", "args")}
        schedule = cls(
            name=job.kind if name is None else name, cron=cron, kind=job.kind, args=msgspec.json.decode(job.args),
            tz=tz, catch_up=catch_up, options=told,
        )  # fmt: skip
        schedule.check()
        return schedule

    def check(self) -> None:
        """Raises an error that names the field at fault."""
        if not isinstance(self.name, str) or not self.name or "\x00" in self.name:
            raise InvalidInput("name", f"must be text, not {self.name!r}")
        if self.catch_up not in get_args(CatchUp):
            raise InvalidInput("catch_up", f"{self.catch_up!r} is none of {', '.join(get_args(CatchUp))}")
        next_tick(self.cron, self.tz, datetime(2000, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSchedule(Schedule):
    """A schedule as the database has it, and how far it has come."""

    source: Source
    paused: bool
    last_tick: datetime | None
    next_tick: datetime | None
    last_job: UUID | None
    created_at: datetime

    def defines(self, schedule: Schedule) -> bool:
        """Whether it says the same as the other."""
        return all(getattr(self, each.name) == getattr(schedule, each.name) for each in fields(Schedule))


def next_tick(cron: str, tz: str, after: datetime) -> datetime:
    """The first tick after a moment, in UTC."""
    for tick in _ticks(cron, tz, after):
        return tick
    raise InvalidInput("cron", f"{cron!r} never comes")


def next_ticks(cron: str, tz: str, after: datetime, count: int) -> list[datetime]:
    """The first so many ticks after a moment, in UTC."""
    return list(islice(_ticks(cron, tz, after), count))


def ticks_between(cron: str, tz: str, after: datetime, until: datetime, *, most: int = MOST_AT_ONCE) -> list[datetime]:
    """The ticks after one moment up to another, that one included; the latest when there are more than `most`."""
    # Backwards first, to find where to begin: of a year of missed seconds only the last thousand are looked at. Around
    # a clock change the two views may differ by a tick, and the forward one counts: hence two more than needed.
    backwards = (tick.astimezone(UTC) for tick in _simulate(cron, tz, until + timedelta(seconds=1), reverse=True))
    latest = list(takewhile(after.__lt__, islice(backwards, most + 2)))
    start = latest[-1] - timedelta(seconds=1) if len(latest) == most + 2 else after
    ticks = []
    for tick in _ticks(cron, tz, max(after, start)):
        if tick > until:
            break
        ticks.append(tick)
    return ticks[-most:]


def due_ticks(schedule: Schedule, last_tick: datetime, now: datetime) -> list[datetime]:
    """The ticks since the last one that are to be fired: all that are on time, and of the missed what `catch_up` says.

    `one` is the latest missed tick, or none when a tick on time stands for it.
    """
    ticks = ticks_between(schedule.cron, schedule.tz, last_tick, now)
    on_time = [tick for tick in ticks if now - tick <= MISSED_AFTER]
    match schedule.catch_up:
        case "none":
            return on_time
        case "one":
            return on_time or ticks[-1:]
        case "all":
            return ticks


def _ticks(cron: str, tz: str, after: datetime) -> Iterator[datetime]:
    last = after.astimezone(UTC)
    for local in _simulate(cron, tz, after):
        tick = local.astimezone(UTC)
        # Begun within the hour that a clock change repeats, cronsim first finds what that hour had the first time; and
        # where a change leaves out midnight, a schedule of every so many hours may get one that no clock has shown.
        if tick > last and tick.astimezone(local.tzinfo) == local:
            yield tick
            last = tick


def _simulate(cron: str, tz: str, moment: datetime, *, reverse: bool = False) -> CronSim:
    try:
        return CronSim(cron, moment.astimezone(_zone(tz)), reverse)
    except InvalidInput:
        raise
    except _UNREADABLE as error:
        why = f" ({error})" if str(error) else ""
        raise InvalidInput("cron", f"{cron!r} is no cron expression such as '30 2 * * MON-FRI'{why}") from None
    except AttributeError:
        raise InvalidInput("cron", f"must be text such as '30 2 * * MON-FRI', not {cron!r}") from None


def _zone(tz: str) -> ZoneInfo:
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        close = get_close_matches(str(tz), available_timezones(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "it takes names such as 'Europe/Berlin'"
        raise InvalidInput("tz", f"there is no time zone {tz!r}; {hint}") from None
