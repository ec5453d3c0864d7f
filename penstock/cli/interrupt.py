"""Ctrl-C: never a traceback, whenever it comes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_Handler = Callable[[int, FrameType | None], object] | signal.Handlers

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended before it was done, as shells have it."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, for what has something to clean up, such as a terminal's cursor."""
    with _on_ctrl_c(signal.default_int_handler, instead_of=signal.SIG_DFL):
        yield


@contextmanager
def ending_on_the_spot() -> Iterator[None]:
    """Ctrl-C ends the process as the kernel does it: for what has nothing to clean up, such as importing.

    KeyboardInterrupt is no way to leave an import: raised in a callback of the import system, it is printed and lost.
    """
    with _on_ctrl_c(signal.SIG_DFL, instead_of=signal.default_int_handler):
        yield


@contextmanager
def _on_ctrl_c(wanted: _Handler, *, instead_of: _Handler) -> Iterator[None]:
    """Unless somebody has chosen otherwise, such as a shell that runs it in the background."""
    in_charge = threading.current_thread() is threading.main_thread()
    if not in_charge or signal.getsignal(signal.SIGINT) != instead_of:
        yield
        return
    signal.signal(signal.SIGINT, wanted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, instead_of)
