"""Whose reading it is: what `POST /api/jobs/start` takes as params, checked before anything is written."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

System = Literal["vedic", "western", "human_design"]
SYSTEMS: tuple[System, ...] = ("vedic", "western", "human_design")
Systems = Annotated[tuple[System, ...], msgspec.Meta(min_length=1, max_length=3)]

_EARLIEST, _LATEST = date(1800, 1, 1), date(2100, 1, 1)
"""Positions were compared with published ones between 1879 and 2024."""


class Person(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Somebody, by when and where they were born. `birthTime` is what the clocks said in `timeZone`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80, pattern=r"\S")]
    birth_date: date
    birth_time: Annotated[str, msgspec.Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$", examples=["14:30"])]
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
        """In UTC. Where the clocks were put back, an hour that came twice is taken the first time."""
        local = datetime.fromisoformat(f"{self.birth_date.isoformat()}T{self.birth_time}")
        return local.replace(tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC)
