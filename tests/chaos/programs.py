"""The harness's other processes: started apart from its terminal, and never outliving it."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Called first in each program: the kernel kills it when the harness dies, however it dies. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit("the harness has gone")


class Program:
    """A module of this package that runs as a process. It has a pipe as its stdin, whose end tells it to finish.

    To be started from the main thread: the kernel takes a thread's end for its parent's.
    """

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"tests.chaos.{module}", str(os.getpid()), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is the harness's alone
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def write_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def tell_to_finish(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def signal(self, how: signal.Signals) -> None:
        self.process.send_signal(how)

    def kill(self) -> None:
        """At once, also when it is stopped; returns when it is gone."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
