"""Values as the text that statements carry, and back."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.call import Row
from penstock.job import ClaimedJob

_encode = msgspec.json.Encoder().encode


def to_json(value: object) -> str:
    return _encode(value).decode()


def from_json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def array_of_ids(jobs: Sequence[ClaimedJob]) -> str:
    """An array as text: psycopg takes 4 µs to dump a UUID in a list, this 0.5."""
    return "{" + ",".join([job.id.hex for job in jobs]) + "}"


def array_of_claims(jobs: Sequence[ClaimedJob]) -> str:
    return "{" + str([job.claims for job in jobs])[1:-1] + "}"


def first_column(rows: Sequence[Row]) -> list[UUID]:
    return [row[0] for row in rows]
