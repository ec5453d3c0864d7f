"""Numbers, times and values as people read them. Pure functions, and filters of the templates."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from penstock.mask import masked_text

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def number(value: float | None) -> str:
    """1234567 as 1,234,567."""
    return "–" if value is None else f"{value:,.0f}"


def counted(count: int | None, noun: str) -> str:
    """1 job, 2,000 jobs."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def short(value: float | None) -> str:
    """1234567 as 1.2M, for where there is little room."""
    if value is None:
        return "–"
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= least:
            scaled = value / (1000 if unit == "k" else least)
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.1f}{unit}"
    return f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """93784.2 as 1 d 2 h; short ones with as many digits as say something."""
    if seconds is None:
        return "–"
    if seconds < 0:
        return "0 s"
    if seconds < 0.0995:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.0095 else f"{seconds * 1000:.0f} ms"
    if seconds < 10 and not isinstance(seconds, int):
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    for place, (length, unit) in enumerate(_UNITS):
        if seconds >= length:
            whole, rest = divmod(seconds, length)
            below, below_unit = _UNITS[place + 1] if place + 1 < len(_UNITS) else (1, "s")
            more = int(rest // below)
            return f"{whole:.0f} {unit} {more} {below_unit}" if more else f"{whole:.0f} {unit}"
    raise AssertionError(seconds)


def size(bytes: int | None) -> str:
    """Of a file: 1536 as 1.5 KB."""
    if bytes is None:
        return "–"
    value = float(bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def ago(moment: datetime | None) -> str:
    """How long since, or until."""
    if moment is None:
        return "–"
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    told = duration(_coarse(round(abs(seconds))))
    return f"{told} ago" if seconds > 0 else f"in {told}"


def _coarse(seconds: int) -> int:
    """Of what is long ago nobody wants the seconds, nor the minutes after two days."""
    length = 1 if seconds < 600 else 60 if seconds < 172_800 else 3600
    return seconds - seconds % length


def moment(value: datetime | None) -> str:
    """In UTC, to the second."""
    return "–" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def machine(value: datetime) -> str:
    """For a <time>'s attribute."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def percent(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or value >= 10 else f"{value:.1f}"


def as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


FILTERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "short": short,
    "duration": duration,
    "size": size,
    "ago": ago,
    "moment": moment,
    "machine": machine,
    "percent": percent,
    "as_json": as_json,
    "masked_text": masked_text,
}
