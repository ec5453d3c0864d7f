"""postgres.log: one file the server appends to, kept to a sane size."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

LARGEST = 10 * 1024 * 1024
LINES_IN_AN_ERROR = 15


def open_log(path: Path) -> int:
    # O_APPEND: the server goes on writing at the end after `trim` has emptied the file.
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def trim(path: Path, largest: int = LARGEST) -> None:
    """Move a large log to `postgres.log.1`. Lines written during the copy are the price of no log daemon."""
    # A full disk must not take the server down with it.
    with suppress(OSError):
        if path.stat().st_size > largest:
            older = path.with_name(path.name + ".1")
            older.unlink(missing_ok=True)
            shutil.copyfile(path, older)
            os.truncate(path, 0)


def last_lines(path: Path, since: int = 0) -> str:
    """The end of what was logged after the first `since` bytes, for an error message."""
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(max(since if since <= size else 0, size - 64 * 1024))
        lines = log.read().decode(errors="replace").splitlines()
    shown = "\n".join(f"  {line}" for line in lines[-LINES_IN_AN_ERROR:]) or "  (nothing was logged)"
    return f"the end of {path}:\n{shown}"
