"""What users start, cancel and retry themselves, and how much of it they may."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from penstock.engine.call import Call, Row, first, nothing
from penstock.engine.calls.text import to_json
from penstock.job import Enqueued, NewJob


def start(kind: str, args: bytes, *, org: str | None = None, idempotency_key: str | None = None) -> Call[Enqueued]:
    """A job of the caller's own; `args` is JSON that has been checked."""
    return Call(
        "select id, created from penstock.start(%s, %s::text::jsonb, %s, %s)",
        [kind, args.decode(), org, idempotency_key],
        lambda rows: Enqueued(*rows[0]),
    )


def start_each(kind: str, args: Sequence[bytes], *, org: str | None = None) -> Call[list[Enqueued]]:
    """Jobs of the caller's own, all or none, by their arguments."""
    return Call(
        """
        select started.id, started.created
          from pg_catalog.unnest(%s::text[]) with ordinality as given (args, place),
               lateral penstock.start(%s, args::jsonb, %s) as started
         order by place
        """,
        [[each.decode() for each in args], kind, org],
        _read_enqueued,
    )


def start_batch(
    jobs: Sequence[Mapping[str, Any]], *, org: str | None = None, idempotency_key: str | None = None
) -> Call[list[Enqueued]]:
    """The batch, then its jobs in their order; each is given as {"kind": …, "args": …}."""
    return Call(
        "select id, created from penstock.start_batch(%s::text::jsonb, %s, %s)",
        [to_json(jobs), org, idempotency_key],
        _read_enqueued,
    )


def start_for(owner: str, quota: str | None, jobs: Sequence[NewJob], *, by_user: bool = False) -> Call[list[Enqueued]]:
    return Call(
        "select id, created from penstock.start_for(%s, %s, %s::text::jsonb, %s)",
        [owner, quota, to_json([job.to_json() for job in jobs]), by_user],
        _read_enqueued,
    )


def _read_enqueued(rows: Sequence[Row]) -> list[Enqueued]:
    return [Enqueued(id, created) for id, created in rows]


def cancel_mine(id: UUID) -> Call[bool | None]:
    """None when the caller has no such job, False when it had ended already."""
    return Call("select penstock.cancel_mine(%s)", [id], first, repeatable=True)


def retry_mine(id: UUID) -> Call[bool | None]:
    """None when the caller has no such job, False when there is nothing to retry."""
    return Call("select penstock.retry_mine(%s)", [id], first)


def declare_kinds(open: Sequence[Mapping[str, Any]], known: Sequence[str]) -> Call[None]:
    """Opens these kinds to users, and closes the others that are known."""
    return Call(
        "select penstock.declare_kinds(%s::text::jsonb, %s::text[])", [to_json(open), list(known)], nothing,
        repeatable=True,
    )  # fmt: skip


def set_quota(name: str, limits: Mapping[str, int | None]) -> Call[None]:
    return Call("select penstock.set_quota(%s, %s::text::jsonb)", [name, to_json(limits)], nothing, repeatable=True)
