"""What is enqueued at once: some jobs, or many alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload
from uuid import UUID

from uuid_utils import uuid7

from penstock.job import Enqueued, NewJob


@dataclass(frozen=True, slots=True)
class Bulk:
    """Many jobs alike but for their arguments."""

    template: NewJob
    args: Sequence[bytes]
    # as bytes: a UUID object costs another 2 µs a job
    ids: Sequence[bytes]

    @classmethod
    def of(cls, template: NewJob, args: Sequence[bytes]) -> "Bulk":
        return cls(template, args, [uuid7().bytes for _ in args])

    def jobs(self) -> list[NewJob]:
        return [
            replace(self.template, id=UUID(bytes=id), args=args) for id, args in zip(self.ids, self.args, strict=True)
        ]


class AllCreated(Sequence[Enqueued]):
    """What COPY gave: every job is new. Made into objects as they are looked at."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Enqueued: ...
    @overload
    def __getitem__(self, index: slice) -> "AllCreated": ...
    def __getitem__(self, index: int | slice) -> "Enqueued | AllCreated":
        if isinstance(index, slice):
            return AllCreated(self._ids[index])
        return Enqueued(UUID(bytes=self._ids[index]), True)


Work = Sequence[NewJob] | Bulk


def ids_of(work: Work) -> Sequence[bytes]:
    return work.ids if isinstance(work, Bulk) else [job.id.bytes for job in work]
