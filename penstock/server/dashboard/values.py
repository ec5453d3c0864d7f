"""Arguments and outputs on a page: without secrets, and no more of them than somebody reads there.

A user has a quarter of a megabyte for arguments, and a page that shows them is made on the event loop.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.mask import masked, masked_text

MOST = 32_768
"""Characters of a value that are shown: they take 10 ms at most."""
_OF_EACH = 8
"""What indentation, quotes and commas come to."""
_MARGIN = 2_048
"""Read beyond what is shown of a text, so that a secret is not cut in two and known by neither half."""
_LONGEST_NAME = 200
"""Which is shown whole, however little room there is."""
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Shown:
    """A value's beginning, which says where it was cut: as it is, and with secrets masked."""

    plain: object
    masked: object

    @property
    def has_secrets(self) -> bool:
        return self.plain != self.masked


def shown(value: object, most: int = MOST) -> Shown:
    return Shown(_Beginning(most, mask=False).of(value), masked(_Beginning(most, mask=True).of(value)))


def beginning(text: str, most: int = MOST) -> str:
    """Of a text, without secrets."""
    return masked_text(text) if len(text) <= most else masked_text(text[: most + _MARGIN])[:most] + "…"


class _Beginning:
    """Takes a value until there is no more room."""

    def __init__(self, room: int, *, mask: bool) -> None:
        self._room = room
        self._mask = mask

    def of(self, value: object, depth: int = 0) -> object:
        self._room -= _OF_EACH + 2 * depth
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            self._room -= value.bit_length() // 3  # its digits, which nothing bounds
        if not isinstance(value, Mapping | list | tuple):
            return value
        if value and depth == _DEEPEST:
            return "…"
        if isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        taken: list[object] = []
        for each in value:
            if self._room <= 0:
                return [*taken, _more(len(value) - len(taken), "")]
            taken.append(self.of(each, depth + 1))
        return taken

    def _mapping(self, value: Mapping[object, object], depth: int) -> object:
        taken: dict[object, object] = {}
        for name, each in value.items():
            if self._room <= 0:
                return {**taken, "…": _more(len(value) - len(taken), "")}
            # by half a name nobody knows that it is one of a secret
            taken[self._text(name, _LONGEST_NAME) if isinstance(name, str) else name] = self.of(each, depth)
        return taken

    def _text(self, text: str, least: int = 0) -> str:
        room = max(least, self._room)
        self._room -= len(text)
        if len(text) <= room:
            return text
        kept = text[: room + _MARGIN]
        return (masked_text(kept) if self._mask else kept)[:room] + _more(len(text) - room, " characters")


def _more(number: int, what: str) -> str:
    return f"… {number:,} more{what}"
