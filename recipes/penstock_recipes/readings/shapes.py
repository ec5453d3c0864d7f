"""Whose reading it is: what `POST /api/jobs/start` takes as params, checked before anything is written; and how a
reading is told of, in the words of the document."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from penstock import JobState
from penstock_recipes.body import Body

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


Status = Literal["queued", "processing", "completed", "failed", "cancelled"]
STATUS: dict[str, Status] = {
    JobState.BLOCKED: "queued",
    JobState.SCHEDULED: "queued",
    JobState.READY: "queued",
    JobState.RUNNING: "processing",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}


class Start(Body):
    type: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00]+$", examples=["nuclear_v2"])]
    params: dict[str, Any] = Field(default={}, description="Whose reading it is, and by which systems.")


class Started(BaseModel):
    id: UUID
    job_id: UUID = Field(alias="jobId", description="The same.")
    status: Status
    created: bool = Field(description="False when the same reading is under way already: it is that one.")


class ReadingProgress(BaseModel):
    model_config = ConfigDict(extra="allow")

    percent: float = Field(ge=0, le=100, examples=[45])
    phase: str | None = Field(examples=["text"])
    docs_complete: float | None = Field(default=None, alias="docsComplete", examples=[7])
    docs_total: float | None = Field(default=None, alias="docsTotal", examples=[16])
    message: str | None = Field(examples=["Generating chapter: Hunger…"])


class ReadingFile(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["audio_mp3"])
    url: str
    duration: float | None = Field(examples=[180])


class ReadingStatus(BaseModel):
    """With everything else that the server tells of a job."""

    model_config = ConfigDict(extra="allow")

    id: UUID
    status: Status | None = None
    progress: ReadingProgress
    artifacts: list[ReadingFile]


def in_words_of_the_document(job: Mapping[str, Any]) -> dict[str, Any]:
    """A reading as the server tells of it, with what the document calls the same."""
    progress = job["progress"]
    status = STATUS[job["state"]]
    if status == "queued" and progress["phase"] is not None:
        status = "processing"  # its last step waits while the others are under way
    return {
        **job,
        "status": status,
        "progress": {
            **progress,
            "phase": "complete" if status == "completed" else progress["phase"] or status,
            "docsComplete": progress["done"],
            "docsTotal": progress["total"],
        },
    }
