"""File locks: how the users of one server and its keeper agree without talking.

- `start.lock`   held alone while a process starts, joins or stops the server: one at a time.
- `users.lock`   shared by every user; the keeper waits to hold it alone, which is when the last user left.
- `keeper.lock`  held alone by the keeper for as long as it lives; the starter takes it and hands it over.
- `server.lock`  inherited by every Postgres process: free means that none of them is left.

The kernel drops a lock when its last holder dies, however it dies. A forked child shares its parent's locks.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _open(path: Path) -> int:
    # O_NOFOLLOW: root may work in a folder that somebody else can write to.
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _take(path: Path, how: int) -> int | None:
    lock = _open(path)
    try:
        fcntl.flock(lock, how)
    except BaseException as problem:
        os.close(lock)
        if isinstance(problem, BlockingIOError):
            return None
        raise
    return lock


def release(lock: int) -> None:
    """Unlock, then close: a child forked by another thread meanwhile must not go on holding it."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def take(path: Path) -> int | None:
    """Hold the lock alone, or return None at once when somebody has it."""
    return _take(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def wait_alone(path: Path) -> int:
    """Hold the lock alone, however long that takes."""
    lock = _take(path, fcntl.LOCK_EX)
    assert lock is not None, "a blocking lock is never refused"
    return lock


def wait_shared(path: Path) -> int:
    """Hold the lock together with other sharers, waiting while somebody holds it alone."""
    lock = _take(path, fcntl.LOCK_SH)
    assert lock is not None, "a blocking lock is never refused"
    return lock


@contextmanager
def alone(path: Path) -> Iterator[None]:
    lock = wait_alone(path)
    try:
        yield
    finally:
        release(lock)


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock alone."""
    if not path.exists():
        return True
    lock = _take(path, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if lock is None:
        return False
    release(lock)
    return True


def is_shared(path: Path) -> bool:
    """Whether somebody shares the lock at this moment."""
    lock = take(path)
    if lock is not None:
        release(lock)
        return False
    return is_free(path)
