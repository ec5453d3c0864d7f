"""What the keeper waits for: a child's end, a request to stop, or the last user's leaving."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from queue import Empty, SimpleQueue

from penstock.embedded import locks
from penstock.embedded.folder import Home


class NotWanted(Exception):
    """Nobody wants the server any more, or somebody asked it to stop."""


class _Event(Enum):
    CHILD_ENDED = auto()
    STOP_ASKED = auto()
    UNUSED = auto()


class Watch:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._events: SimpleQueue[_Event] = SimpleQueue()
        # The starter's mask is inherited, and it may block what we wait for.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGCHLD, lambda *_: self._events.put(_Event.CHILD_ENDED))
        signal.signal(signal.SIGTERM, lambda *_: self._events.put(_Event.STOP_ASKED))
        signal.signal(signal.SIGINT, lambda *_: self._events.put(_Event.STOP_ASKED))

    def pause(self, seconds: float) -> None:
        """Wait for a moment, or until a child ends; raise NotWanted when there is no reason to go on.

        Asks for the users' lock instead of waiting for it in a thread: children are still to be forked.
        """
        event = self._next(seconds)
        if event is _Event.STOP_ASKED or locks.take(self._home.users_lock) is not None:
            raise NotWanted

    def finish(self, child: subprocess.Popen[bytes]) -> int:
        """Wait for a short-lived child and return its exit code."""
        while (code := child.poll()) is None:
            self.pause(0.02)
        return code

    def serve(self, server: subprocess.Popen[bytes], chore: Callable[[], None], every: float = 60) -> None:
        """Wait until the server ends or is not wanted, doing a small chore now and then."""
        threading.Thread(target=self._wait_for_the_last_user, daemon=True).start()
        while server.poll() is None:
            match self._next(every):
                case _Event.STOP_ASKED | _Event.UNUSED:
                    raise NotWanted
                case _Event.CHILD_ENDED | None:
                    chore()

    def ended(self, child: subprocess.Popen[bytes], within: float) -> bool:
        """Wait for a child that was told to end."""
        deadline = time.monotonic() + within
        while child.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._next(left)
        return True

    def _next(self, seconds: float) -> _Event | None:
        try:
            return self._events.get(timeout=seconds)
        except Empty:
            return None

    def _wait_for_the_last_user(self) -> None:
        lock = locks.wait_alone(self._home.users_lock)
        if self._home.stay.exists():
            locks.release(lock)
            return
        # The lock is kept to the end of the process: whoever comes now waits until the server is down.
        self._events.put(_Event.UNUSED)
