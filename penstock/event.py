"""What events, and steps that wait for them, may be called, and how long they may take: the same for those who emit and
those who wait, whichever engine the jobs are on."""

from uuid import UUID

from penstock.errors import InvalidInput

Key = str | int | UUID
"""Of an event. A number and a UUID are their text, as they are in an address or a column."""

APPROVAL = "penstock.approval"
"""The event that an answer is."""
_OURS = "penstock."
"""Begins the names of what is kept beside the handler's steps, as what a provider has called back with."""
_LONGEST = 500
_MOST_SECONDS = 1e9


def checked_event(event: str) -> str:
    event = _checked("event", event, 1, "bytes")
    if event.startswith(_OURS):
        raise InvalidInput("event", f"{event!r} is one of Penstock's own; an approval is answered by app.operator(who)")
    return event


def checked_key(key: Key) -> str:
    """As text."""
    if isinstance(key, int | UUID) and not isinstance(key, bool):
        return str(key)
    return _checked("key", key, 0, "bytes")


def checked_step(name: str) -> str:
    name = _checked("name", name, 1, "characters")
    if name.startswith(_OURS):
        raise InvalidInput("name", f"{name!r} is one of Penstock's own: give the step another")
    return name


def checked_seconds(field: str, seconds: float) -> float:
    # what is no number is not between these either
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _MOST_SECONDS:
        raise InvalidInput(field, f"must be between 0 and {_MOST_SECONDS:g} seconds, not {seconds!r}")
    return seconds


def _checked(field: str, text: object, least: int, unit: str) -> str:
    if isinstance(text, str):
        # as plain text: an enumeration's member is what it stands for, not its name
        text = str.__str__(text)
        encoded = text.encode(errors="replace")
        length = len(encoded if unit == "bytes" else text)
        if least <= length <= _LONGEST and "\x00" not in text and encoded.decode() == text:
            return text
    raise InvalidInput(
        field, f"must be text of {least} to {_LONGEST} {unit}, without NUL and lone surrogates, not {text!r:.80}"
    )
