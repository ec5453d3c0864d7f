"""What a handler has of what it waited for, as values: a job that it called, a person's answer."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from penstock.errors import CallFailed
from penstock.job import JobState


class Called(msgspec.Struct, frozen=True):
    """A job that was called, and what came of it."""

    id: UUID
    kind: str | None
    state: JobState | None
    output: Any
    error: str | None
    type: str | None = None
    """Of the error, as in `Failure.error_type`."""


class Approval(msgspec.Struct, frozen=True):
    """What a person answered: whether they agree, who it was, when, and what they had to say.

    ```python
    @app.job
    async def ship(ctx: Context, order: int) -> str:
        answer = await ctx.approve(f"Ship order {order}?")
        return "shipped" if answer.approved else f"{answer.by} refused: {answer.comment}"

    handle = ship.enqueue(7)
    app.tick()
    app.operator("ada").approve(handle.id)
    ```
    """

    approved: bool
    by: str
    at: datetime
    comment: str | None = None

    def __bool__(self) -> bool:
        return self.approved


Approver = Literal["operator", "owner"]


def failure_of(called: Called) -> CallFailed:
    return CallFailed(called.id, called.kind, called.state, called.error, called.type)
