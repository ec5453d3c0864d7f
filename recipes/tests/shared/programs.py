"""Programs of these tests in processes of their own."""

import os
from pathlib import Path

_TESTS = Path(__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    """Ours, in which a program can be named as it is imported here: `calls.program`."""
    inherited = os.environ.get("PYTHONPATH")
    path = f"{_TESTS}{os.pathsep}{inherited}" if inherited else str(_TESTS)
    return os.environ | {"PYTHONPATH": path} | more
