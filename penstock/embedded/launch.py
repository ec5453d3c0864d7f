"""Starting the keeper from a user's process."""

import os
import select
import subprocess
import sys

from penstock.embedded import run_keeper
from penstock.embedded.binaries import find_binaries, shipped_binaries
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Home
from penstock.embedded.running import READY, Request
from penstock.embedded.server_log import last_lines, open_log

START_SECONDS = 120.0


def launch_keeper(home: Home, request: Request, keeper_lock: int) -> None:
    """Start a keeper, hand it its lock, and return when its server is ready.

    Whatever interrupts us, nothing is left to undo: the keeper ends when no user holds the users' lock.
    """
    log = report_end = message_end = -1
    try:
        binaries = find_binaries()
        home.running.unlink(missing_ok=True)
        log = open_log(home.log)
        logged = os.fstat(log).st_size
        report_end, message_end = os.pipe()
        shipped = "shipped" if binaries in shipped_binaries() else "chosen"
        # Returns at once: the keeper forks and its parent ends.
        subprocess.run(  # noqa: S603 (ourselves)
            [
                *(sys.executable, "-P", run_keeper.__file__),
                *(home.folder, binaries, shipped, request.to_json(), str(message_end), str(keeper_lock)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(message_end, keeper_lock),
            start_new_session=True,
        )
        os.close(message_end)
        message_end = -1
        message = _read_message(report_end)
    finally:
        for handle in (log, report_end, message_end, keeper_lock):
            if handle >= 0:
                os.close(handle)
    if message is None:
        raise EmbeddedError(f"no server after {START_SECONDS:.0f} s; {last_lines(home.log, logged)}")
    if not message:
        raise EmbeddedError(f"the keeper ended before its server was ready; {last_lines(home.log, logged)}")
    if message != READY:
        raise EmbeddedError(message)


def _read_message(pipe: int) -> str | None:
    """All that is written to the pipe until its other end closes, or None if that takes too long."""
    waiting = select.poll()
    waiting.register(pipe)
    message = b""
    while waiting.poll(START_SECONDS * 1000):
        part = os.read(pipe, 65536)
        if not part:
            return message.decode()
        message += part
    return None
