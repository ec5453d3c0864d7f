"""Values as the text that statements carry, and back."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.call import Row

_encode = msgspec.json.Encoder().encode


def to_json(value: object) -> str:
    return _encode(value).decode()


def from_json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def first_column(rows: Sequence[Row]) -> list[UUID]:
    return [row[0] for row in rows]
