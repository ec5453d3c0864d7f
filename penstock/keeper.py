"""Who takes the files of running jobs."""

from collections.abc import Mapping
from typing import Any, Protocol, TypedDict, Unpack

from penstock.artifact import Artifact
from penstock.job import ClaimedJob, Lease
from penstock.source import Source


class PutChoices(TypedDict, total=False):
    """What may be said about a file."""

    type: str | None
    content_type: str | None
    duration: float | None
    metadata: Mapping[str, Any] | None
    expires_in: float | None
    overwrite: bool
    path: str | None


class Keeper(Protocol):
    """Takes the files of running jobs: into a store, or to a server that has one."""

    def put(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact: ...

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact: ...
