"""How much memory this process takes."""

import resource
import sys
from pathlib import Path


def resident_bytes() -> int:
    """The memory that this process has now; where that cannot be told, the most it ever had."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
