"""`penstock enqueue --from`: many jobs from the lines of a file, in one transaction."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, Unpack

from penstock.app import Penstock
from penstock.cli.given import moment
from penstock.cli.output import out, print_json
from penstock.cli.progress import Told, bar
from penstock.errors import InvalidInput, PenstockError
from penstock.job import NewJob
from penstock.job_options import Choices
from penstock.json import loads
from penstock.logs import counted

PART = 5_000
_OWN = (
    "queue",
    "priority",
    "delay",
    "run_at",
    "max_attempts",
    "unique",
    "owner",
    "org",
    "limit_key",
    "idempotency_key",
)
"""What a line may say of its job, beside kind and args."""


class Prepare(Protocol):
    def __call__(self, kind: str, args: dict[str, Any], **own: Unpack[Choices]) -> NewJob: ...


def enqueue_lines(app: Penstock, json: bool, source: str, kind: str | None, prepare: Prepare) -> None:
    """All or none: a line that is wrong is named, and nothing was written."""
    created = existed = 0
    with _opened(source) as (lines, total), bar("enqueueing", total, json=json) as tell:
        jobs = (_job(number, line, kind, prepare) for number, line in _numbered(lines, tell))
        with app.database.pools.sync().connection() as own:
            while part := list(islice(jobs, PART)):
                for each in app.engine.enqueue(part, own):
                    created, existed = created + each.created, existed + (not each.created)
    if json:
        print_json({"enqueued": created, "existed": existed})
    else:
        there = f"; {counted(existed, 'was', 'were')} there already" if existed else ""
        out.print(f"{counted(created, 'job')} enqueued{there}", highlight=False)


@contextmanager
def _opened(source: str) -> Iterator[tuple[Iterable[str], int | None]]:
    """Its lines, and how many there are as far as that can be known."""
    if source == "-":
        yield sys.stdin, None
        return
    try:
        file = Path(source).open(encoding="utf-8")  # noqa: SIM115
        total = sum(1 for _ in file)
        file.seek(0)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise InvalidInput("from", f"{source} cannot be read: {why}; name a file of JSON lines, or -") from None
    with file:
        yield file, total


def _numbered(lines: Iterable[str], tell: Told) -> Iterator[tuple[int, str]]:
    """Those that say something."""
    for number, line in enumerate(lines, 1):
        if number % 500 == 0:
            tell(number)
        if line.strip():
            yield number, line


def _job(number: int, line: str, kind: str | None, prepare: Prepare) -> NewJob:
    try:
        if kind is not None:
            return prepare(kind, _object(line))
        read = _object(line)
        own = {name: value for name, value in read.items() if name not in ("kind", "args")}
        for name in own:
            if name not in _OWN:
                raise InvalidInput(name, f"is none of kind, args, {', '.join(_OWN)}")
        if not isinstance(read.get("kind"), str) or not isinstance(read.get("args", {}), dict):
            raise InvalidInput("kind", 'write a line as {"kind": "send_mail", "args": {"to": "ada@example.com"}}')
        if "run_at" in own:
            own["run_at"] = moment(str(own["run_at"]))
        return prepare(read["kind"], read.get("args", {}), **own)
    except PenstockError as error:
        raise InvalidInput(f"line {number}", f"{error}. Nothing was enqueued") from None


def _object(line: str) -> dict[str, Any]:
    try:
        read = loads(line)
    except ValueError as error:
        raise InvalidInput("", f'must be a JSON object such as {{"document": "d1"}}: {error}') from None
    if not isinstance(read, dict):
        raise InvalidInput("", f'must be a JSON object such as {{"document": "d1"}}, not {line.strip()[:80]}')
    return read
