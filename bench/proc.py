"""What /proc tells of a process: CPU seconds, resident memory. Nothing where there is no /proc."""

import os
from pathlib import Path

PROC = Path("/proc")
TICK = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float | None:
    """User and system time of the process itself."""
    fields = _stat(pid)
    return None if fields is None else (int(fields[11]) + int(fields[12])) * TICK


def family_cpu_seconds(pid: int) -> float | None:
    """That of a process, of its children, and of those that it has reaped: a whole Postgres, by its postmaster."""
    while (parent := _stat(pid)) is not None:
        children = [fields for fields in map(_stat, _pids()) if fields is not None and int(fields[1]) == pid]
        if _reaped(parent) == _reaped(_stat(pid)):
            own = sum(int(fields[11]) + int(fields[12]) for fields in [parent, *children])
            return (own + _reaped(parent)) * TICK
        # else one was reaped meanwhile, and is in neither of the two
    return None


def _reaped(fields: list[str] | None) -> int:
    return 0 if fields is None else int(fields[13]) + int(fields[14])


def parent_of(pid: int) -> int | None:
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def resident_mb(pid: int) -> float | None:
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the third on: the second is a name, which may contain anything."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
