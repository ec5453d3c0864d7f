"""A folder for work, of which nothing is left in the end."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def work_folder(name: str, *, abandoned: float = 3600) -> Iterator[Path]:
    """A folder that is gone when the block ends, however that comes about.

    A process that is killed leaves its own: whoever makes one of the same `name` on this machine removes those that
    nothing was added to for `abandoned` seconds, which is longer than any work takes.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{name}-*"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - abandoned:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
