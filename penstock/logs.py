"""Log lines that say which job they belong to: for people on a terminal, as JSON lines otherwise."""

import logging
import os
import re
import sys
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from penstock.job import ClaimedJob

current_job: ContextVar[ClaimedJob | None] = ContextVar("penstock_job", default=None)
"""The job whose handler is running here; every line logged meanwhile carries its id, kind and attempt."""

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "job_id", "job_kind", "job_attempt"}
_COLOURS = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m", logging.CRITICAL: "\x1b[31;1m"}


def mark_with_job(record: logging.LogRecord) -> bool:
    """A logging filter: adds job_id, job_kind and job_attempt to a record made while a job runs."""
    job = current_job.get()
    if job is not None:
        record.job_id = str(job.id)
        record.job_kind = job.kind
        record.job_attempt = job.attempt
    return True


# what a terminal obeys, and what turns the order of a line round: C0, DEL, C1, line separators, bidirectional marks
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """Text of jobs and of strangers for a terminal: shows what that would otherwise obey, as \\x1b or \\u202e."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escaped_in_json(text: str) -> str:
    """The same for JSON, which stays what it was to whoever reads it as JSON."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """1 job, 2 jobs."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


class JSONLines(logging.Formatter):
    """A line of JSON for each record, with the job that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if hasattr(record, "job_id"):
            line |= {"job": record.job_id, "kind": record.job_kind, "attempt": record.job_attempt}  # type: ignore[attr-defined]
        line |= {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return escaped_in_json(msgspec.json.encode(line, enc_hook=str).decode())


class ForPeople(logging.Formatter):
    """For a terminal: the time, the job, and the level where it is not the usual one."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        # the end of a UUIDv7 tells jobs apart; its beginning is the time
        job = f"{record.job_kind} {record.job_id[-12:]} #{record.job_attempt}  " if hasattr(record, "job_id") else ""  # type: ignore[attr-defined]
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        line = f"{at}  {job}{level}{record.getMessage()}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        # set in: what a job logs must not look like a line of another's
        line = shown(line).replace("\n", f"\n{'':10}")
        if self._colour and record.levelno in _COLOURS:
            return f"{_COLOURS[record.levelno]}{line}\x1b[0m"
        return line


def set_up(level: str = "info", *, json: bool | None = None, stream: TextIO | None = None) -> None:
    """Logs to stderr: for people when it is a terminal, JSON lines otherwise or when asked."""
    stream = stream or sys.stderr
    for_people = stream.isatty() if json is None else not json
    handler = logging.StreamHandler(stream)
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    handler.setFormatter(ForPeople(colour=coloured) if for_people else JSONLines())
    handler.addFilter(mark_with_job)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    keep_urls_out()


def keep_urls_out() -> None:
    """httpx would log them whole, and a webhook's URL is often its secret."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
