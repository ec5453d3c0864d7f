"""What is typed as text and means more: arguments as JSON, moments."""

from datetime import datetime
from typing import Any

from penstock.errors import InvalidInput
from penstock.json import loads


def read_arguments(text: str) -> dict[str, Any]:
    try:
        read = loads(text)
    except ValueError as error:
        raise InvalidInput("args", f'must be JSON such as {{"document": "d1"}}: {error}') from None
    if not isinstance(read, dict):
        raise InvalidInput("args", f'must be a JSON object such as {{"document": "d1"}}, not {text}')
    return read


def moment(text: str) -> datetime:
    """Without a zone it is this machine's."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise InvalidInput("run_at", f"must be a time such as 2026-12-24T18:00+01:00, not {text!r}") from None
