"""Waiting for what another process or thread does, when nothing tells of it."""

import threading
import time
from collections.abc import Callable


def until(condition: Callable[[], object], within: float = 20.0) -> None:
    """Returns as soon as the condition holds; fails the test when it does not in time."""
    deadline = time.monotonic() + within
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it has not happened"
        pause.wait(0.002)
