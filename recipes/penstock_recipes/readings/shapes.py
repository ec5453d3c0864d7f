"""Whose reading it is: what `POST /api/jobs/start` takes as params, checked before anything is written."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

System = Literal["vedic", "western", "human_design"]
SYSTEMS: tuple[System, ...] = ("vedic", "western", "human_design")
Systems = Annotated[tuple[System, ...], msgspec.Meta(min_length=1, max_length=3)]

_EARLIEST, _LATEST = date(1800, 1, 1), date(2100, 1, 1)
"""Positions were compared with published ones between 1879 and 2024."""
_TIME = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$"
_DAY = timedelta(days=1)


class Person(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Somebody, by when and where they were born. `birthTime` is what the clocks said in `timeZone`; null, or left out,
    if nobody knows it."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80, pattern=r"\S")]
    birth_date: date
    birth_time: Annotated[str, msgspec.Meta(pattern=_TIME, examples=["14:30"])] | None = None
    time_zone: Annotated[str, msgspec.Meta(max_length=64, examples=["Europe/Warsaw"])]
    latitude: Annotated[float, msgspec.Meta(ge=-90, le=90)]
    longitude: Annotated[float, msgspec.Meta(ge=-180, le=180)]

    def __post_init__(self) -> None:
        if any(ord(character) < 32 for character in self.name):
            raise ValueError("name must not contain control characters")
        if not _EARLIEST <= self.birth_date < _LATEST:
            raise ValueError(f"birthDate must be from {_EARLIEST} to before {_LATEST}, not {self.birth_date}")
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"timeZone must be a name like Europe/Warsaw or America/New_York, not {self.time_zone!r}"
            ) from None

    @property
    def born(self) -> datetime:
        """In UTC; noon, if the hour is unknown. Where the clocks were put back, an hour that came twice is taken the
        first time. Before a zone had one time every place had the sun's, of which the zone knows only a city's."""
        local = datetime.fromisoformat(f"{self.birth_date.isoformat()}T{self.birth_time or '12:00'}")
        there = local.replace(tzinfo=ZoneInfo(self.time_zone))
        if there.tzname() != "LMT":
            return there.astimezone(UTC)
        return (local - self._local_mean_time(there.utcoffset() or timedelta())).replace(tzinfo=UTC)

    def _local_mean_time(self, citys: timedelta) -> timedelta:
        """How far the sun's mean time was ahead of Greenwich's, to the second: four minutes for each degree. On the day
        of the zone's city: for Manila until 1844 and Alaska until 1867 that was another than today."""
        ahead = timedelta(seconds=round(self.longitude * 240))
        return citys + (ahead - citys + _DAY / 2) % _DAY - _DAY / 2
