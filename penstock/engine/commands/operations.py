"""What operators do: actions over many jobs, and the record of who did what."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from penstock.engine.commands.command import Repeatable

Action = Literal["retry", "cancel", "purge", "move", "set_priority"]


class MoveJobs(Repeatable[list[UUID]], frozen=True):
    """The ids that were in another queue, and had not started."""

    ids: Sequence[UUID]
    queue: str


class SetPriority(Repeatable[list[UUID]], frozen=True):
    """The ids that had another priority, and had not started."""

    ids: Sequence[UUID]
    priority: int


class Preview(msgspec.Struct, frozen=True):
    """How many jobs an operation would be about: at least so many, when it is not exact.

    ```python
    preview = app.operations.preview("retry", queue="mail", state="failed")
    print(preview.jobs if preview.exact else f"at least {preview.jobs:,}")
    ```
    """

    jobs: int
    exact: bool


class PreviewOperation(Repeatable[Preview], frozen=True):
    action: Action
    filter: Mapping[str, Any]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """An action over many jobs, and how far it is. `done` counts the jobs that it changed; `total` is how many there
    were when it began; there may have been more unless `total_is_exact`.

    ```python
    operation = app.operator("ada").retry(queue="mail", state="failed")
    print(operation.state, operation.done, "of", operation.total)
    ```
    """

    id: UUID
    action: Action
    state: Literal["running", "done", "cancelled", "failed"]
    who: str
    filter: dict[str, Any]
    options: dict[str, Any]
    total: int
    total_is_exact: bool
    done: int
    error: str | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def finished(self) -> bool:
        return self.state != "running"


class StartOperation(Repeatable[Operation], frozen=True):
    """Repeatable, because its id is the caller's."""

    id: UUID
    action: Action
    filter: Mapping[str, Any]
    options: Mapping[str, Any]
    who: str


class GetOperation(Repeatable[Operation | None], frozen=True):
    id: UUID


class ListOperations(Repeatable[list[Operation]], frozen=True):
    """Newest first."""

    before: UUID | None = None
    limit: int = 50


class CancelOperation(Repeatable[bool], frozen=True):
    """False when it had ended already."""

    id: UUID
    who: str


class ContinueOperation(Repeatable[bool], frozen=True):
    """Goes on with one by a chunk of jobs; False when there is none."""


class IsOperating(Repeatable[bool], frozen=True):
    """Whether an operation is under way."""


class AuditLine(msgspec.Struct, frozen=True):
    """What somebody did. `jobs` is how many it changed, where it is about jobs.

    ```python
    for line in app.audit.list(limit=20):
        print(line.at, line.who, line.action, line.target, line.jobs)
    ```
    """

    number: int
    at: datetime
    who: str
    action: str
    target: str | None
    details: dict[str, Any]
    jobs: int | None


class AddAudit(Repeatable[None], frozen=True):
    who: str
    action: str
    target: str | None
    details: Mapping[str, Any]
    jobs: int | None = None


class ListAudit(Repeatable[list[AuditLine]], frozen=True):
    """Newest first."""

    before: int | None = None
    limit: int = 50
