"""The workers and producers that run meanwhile."""

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.programs import Program

FINISHING = 30.0


@dataclass
class Crew:
    url: str
    folder: Path
    lease: float
    producers_url: str = ""
    """Where producers have another login than workers."""
    workers: dict[str, Program] = field(default_factory=dict)
    producers: dict[str, Program] = field(default_factory=dict)

    def start_worker(self, name: str) -> None:
        """Starts it, again if it was killed."""
        if name in self.workers:
            self.workers[name].kill()
        self.workers[name] = Program("worker", self.url, str(self.folder), name, str(self.lease), log=self.log_of(name))

    def start_producer(self, name: str, seed: int) -> None:
        self.producers[name] = Program(
            "producer", self.producers_url or self.url, str(self.folder), name, str(seed), log=self.log_of(name)
        )

    def kill_worker(self, name: str) -> None:
        self.workers[name].signal(signal.SIGKILL)
        self.workers[name].process.wait()

    def finish_producers(self) -> None:
        """Each ends its transaction first, and writes down what became of it."""
        for producer in self.producers.values():
            producer.tell_to_finish()
        deadline = time.monotonic() + FINISHING
        for producer in self.producers.values():
            producer.process.wait(max(0.0, deadline - time.monotonic()))

    def ended(self) -> Sequence[str]:
        """Who has ended without being told."""
        return [name for name, program in (self.workers | self.producers).items() if program.ended]

    def log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def kill_all(self) -> None:
        for program in (*self.workers.values(), *self.producers.values()):
            program.kill()
