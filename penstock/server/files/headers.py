"""HTTP's words about files: names, ranges and versions. Pure functions."""

import re
from urllib.parse import quote

from penstock.artifact import TURNS

_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)", re.IGNORECASE)
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def disposition(name: str) -> str:
    """Content-Disposition for a download of this name (RFC 6266): nothing in the name can end the header or begin
    another, whatever it holds."""
    last = harmless(re.split(r"[/\\]", name)[-1]) or "file"
    plain = re.sub(r"[^A-Za-z0-9 ._()+,=@-]", "_", last)[:200].strip() or "file"
    exact = quote(last.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}"


def harmless(name: str) -> str:
    """A file's name without what turns text around, and none that Windows takes for a device: also for files that
    were stored when such names were not refused yet."""
    name = TURNS.sub("_", name)
    return f"_{name}" if _DEVICE.match(name) else name


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has this version."""
    if not if_none_match:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or "*" in tags


class Unsatisfiable(Exception):
    """A range beyond the file's end."""


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """From where to before where; None when there is none, or several, which may be answered with the whole."""
    found = _RANGE.fullmatch(header.strip()) if header else None
    if not found or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if first == "":
        start, end = max(0, size - int(last)), size
        if last.strip("0") == "":
            raise Unsatisfiable
    else:
        start = int(first)
        end = min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        raise Unsatisfiable
    return start, end
