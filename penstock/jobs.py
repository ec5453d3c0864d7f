"""Looking through jobs, live and finished, and changing the course of one or many."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import SearchPage
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput
from penstock.job import Job, JobState


class Filter(TypedDict, total=False):
    """Which jobs: every condition given must hold; a list means any of its values."""

    queue: str | Sequence[str]
    kind: str | Sequence[str]
    state: JobState | str | Sequence[JobState | str]
    owner: str | Sequence[str]
    org: str | Sequence[str]
    parent: UUID | Sequence[UUID]
    unique_key: str | Sequence[str]
    ids: Sequence[UUID]
    id: str
    """How the id begins, with or without dashes."""
    error: str
    """A text that an error of one of its attempts contains."""
    args: dict[str, Any]
    created_after: datetime
    created_before: datetime


Ids = list[UUID]


@dataclass(frozen=True, slots=True)
class Page:
    """Jobs, newest first, and where the next page begins: pass `next` as `before`. None on the last page.

    ```python
    page = app.jobs.list(state="failed", limit=20)
    while page.next:
        page = app.jobs.list(state="failed", limit=20, before=page.next)
    ```
    """

    jobs: list[Job]
    next: UUID | None


class Jobs:
    """`app.jobs`: every method has an async twin whose name begins with a.

    ```python
    for job in app.jobs.each(queue="mail", state="failed"):
        print(job.id, job.last_error)
    app.jobs.retry_where(queue="mail", state="failed")
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, id: UUID) -> Job | None:
        """Everything on record about a job, live or finished; None when there is none."""
        return self._engine.run(commands.GetJob(id))

    async def aget(self, id: UUID) -> Job | None:
        return await self._engine.arun(commands.GetJob(id))

    def list(self, *, before: UUID | None = None, limit: int = 50, **filter: Unpack[Filter]) -> Page:
        """One page of jobs, newest first. Pages neither repeat nor skip a job while others come in."""
        return _page(self._engine.run(commands.ListJobs(checked_filter(filter), before, _limit(limit) + 1)), limit)

    async def alist(self, *, before: UUID | None = None, limit: int = 50, **filter: Unpack[Filter]) -> Page:
        return _page(
            await self._engine.arun(commands.ListJobs(checked_filter(filter), before, _limit(limit) + 1)), limit
        )

    def search(self, *, before: UUID | None = None, limit: int = 50, **filter: Unpack[Filter]) -> SearchPage:
        """A page of jobs, newest first, in a tenth of a second however many jobs there are. It looks through them for
        half of that and says how far it came, so a page may have few jobs, or none, although others follow."""
        return self._engine.run(commands.SearchJobs(checked_filter(filter), before, _limit(limit)))

    async def asearch(self, *, before: UUID | None = None, limit: int = 50, **filter: Unpack[Filter]) -> SearchPage:
        return await self._engine.arun(commands.SearchJobs(checked_filter(filter), before, _limit(limit)))

    def each(self, **filter: Unpack[Filter]) -> Iterator[Job]:
        """Every job that fits, newest first, a page at a time."""
        before = None
        while True:
            page = self.list(before=before, limit=500, **filter)
            yield from page.jobs
            if (before := page.next) is None:
                return

    async def aeach(self, **filter: Unpack[Filter]) -> AsyncIterator[Job]:
        before = None
        while True:
            page = await self.alist(before=before, limit=500, **filter)
            for job in page.jobs:
                yield job
            if (before := page.next) is None:
                return

    def cancel(self, *ids: UUID, reason: str = "cancelled") -> Ids:
        """Cancels jobs and whole flows. Returns the ids of those that were still unfinished."""
        return self._engine.run(commands.Cancel(ids, reason))

    async def acancel(self, *ids: UUID, reason: str = "cancelled") -> Ids:
        return await self._engine.arun(commands.Cancel(ids, reason))

    def retry(self, *ids: UUID, queue: str | None = None) -> Ids:
        """Brings failed or cancelled jobs back, in another queue if named. Returns the ids of those that came back."""
        return self._engine.run(commands.Retry(ids, queue))

    async def aretry(self, *ids: UUID, queue: str | None = None) -> Ids:
        return await self._engine.arun(commands.Retry(ids, queue))

    def retry_where(self, *, to_queue: str | None = None, **filter: Unpack[Filter]) -> Ids:
        """Retries the jobs of a filter: those that failed, unless it names another state. Returns their ids."""
        return self._engine.run(commands.RetryWhere(checked_filter(filter), to_queue))

    async def aretry_where(self, *, to_queue: str | None = None, **filter: Unpack[Filter]) -> Ids:
        return await self._engine.arun(commands.RetryWhere(checked_filter(filter), to_queue))

    def purge_where(self, **filter: Unpack[Filter]) -> int:
        """Deletes finished jobs of a filter from history: those that failed, unless it names another state. Returns how
        many."""
        return self._engine.run(commands.PurgeWhere(checked_filter(filter)))

    async def apurge_where(self, **filter: Unpack[Filter]) -> int:
        return await self._engine.arun(commands.PurgeWhere(checked_filter(filter)))


def checked_filter(filter: Filter) -> dict[str, Any]:
    for name in ("created_after", "created_before"):
        moment = filter.get(name)
        if moment is not None and not (isinstance(moment, datetime) and moment.tzinfo):
            raise InvalidInput(name, "must be a datetime with a time zone")
    for name in ("parent", "ids"):
        for id in _several(filter.get(name)):
            if not isinstance(id, UUID):
                raise InvalidInput(name, f"must be a UUID, not {id!r}")
    for name in ("queue", "kind", "owner", "org", "unique_key", "id", "error"):
        for text in _several(filter.get(name)):
            if not isinstance(text, str) or "\x00" in text:
                raise InvalidInput(name, f"must be text without NUL, not {text!r}")
    for state in _several(filter.get("state")):
        if state not in list(JobState):
            raise InvalidInput("state", f"{state!r} is none of {', '.join(JobState)}")
    for name in ("id", "error"):
        if filter.get(name) == "" or isinstance(filter.get(name), list | tuple):
            raise InvalidInput(name, "must be one text that is not empty")
    given = {name: value for name, value in filter.items() if value is not None}
    return given | {"ids": _several(given["ids"])} if "ids" in given else given


def _several(value: object) -> Sequence[object]:
    if value is None:
        return ()
    return value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def _limit(limit: int) -> int:
    if not 1 <= limit <= 1000:
        raise InvalidInput("limit", f"must be between 1 and 1000, not {limit}")
    return limit


def _page(jobs: list[Job], limit: int) -> Page:
    return Page(jobs[:limit], jobs[limit - 1].id if len(jobs) > limit else None)
