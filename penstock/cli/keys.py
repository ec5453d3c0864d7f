"""Keys that are pressed, one at a time, without Enter and without an echo."""

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Read = Callable[[float], str | None]
"""The next key within so many seconds; None when there is none. Arrows are left, right, up and down."""

_ARROWS = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[C": "right", b"\x1b[D": "left"}


@contextmanager
def reading_keys() -> Iterator[Read]:
    """The terminal is as it was in the end, whatever ends it."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)

    def read(within: float) -> str | None:
        ready, _, _ = select.select([terminal], [], [], max(within, 0))
        if not ready:
            return None
        pressed = os.read(terminal, 16)
        # nothing more will come: the terminal is gone
        return "q" if not pressed else _ARROWS.get(pressed) or pressed[:1].decode("ascii", "ignore")

    try:
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
