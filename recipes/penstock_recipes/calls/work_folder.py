"""Where a stage has its files while it works on them."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "penstock-call-"
_ABANDONED = 2 * 3600
"""Seconds; twice as long as any stage may take."""


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder that is gone in the end. A worker that is killed leaves its own, with somebody's recording in it:
    whoever comes next on this machine removes it."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
