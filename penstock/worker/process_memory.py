"""How much memory a process takes."""

import resource
import sys
from pathlib import Path


def resident_bytes(process: int | None = None) -> int:
    """The memory that a process has now, this one or another; where that cannot be told, the most it ever had, or 0."""
    try:
        return int(Path(f"/proc/{process or 'self'}/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    except OSError:
        if process is not None:
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
