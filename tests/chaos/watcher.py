"""A watcher of the API: one job that lasts as long as the storm, whose progress is read from its stream throughout."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx

from tests.chaos.ledger import Fates, storm_over
from tests.chaos.visitor import ANSWER, SILENCE
from tests.kit.serving import AS_SERVICE


class Watcher(threading.Thread):
    """Keeps when each step of the job was heard of. Whoever leads, the steps go on, and in the end it succeeds."""

    def __init__(self, address: str, folder: Path, headers: Mapping[str, str] = AS_SERVICE) -> None:
        super().__init__(name="watcher", daemon=True)
        self.heard: list[float] = []
        self.streams = 0
        """How often it had to begin to read: once, and again after each that ended before the job did."""
        self.saw_the_end = False
        self._done = 0.0
        self._given_up = threading.Event()
        self._over = storm_over(folder)
        self._fates = Fates(folder, "watcher")
        self._client = httpx.Client(base_url=address, headers=dict(headers), timeout=ANSWER)

    def run(self) -> None:
        while not (id := self._start()):
            time.sleep(0.1)
        self._fates.write("committed", [UUID(id)])
        while not self.saw_the_end and not self._given_up.is_set():
            self.streams += 1
            try:
                self._read(id)
            except httpx.TransportError:
                time.sleep(0.1)
        self._fates.close()
        self._client.close()

    def _start(self) -> str | None:
        try:
            answer = self._client.post("/api/jobs", json={"kind": "long"}, headers={"Idempotency-Key": "long"})
        except httpx.TransportError:
            return None
        return str(answer.json()["id"]) if answer.status_code == 202 else None

    def _read(self, id: str) -> None:
        with self._client.stream("GET", f"/api/jobs/{id}/stream", timeout=SILENCE) as stream:
            for line in stream.iter_lines():
                self.hear(line)

    def hear(self, line: str) -> None:
        """A line of the stream; what says no more than was known is no step."""
        name, _, value = line.partition(": ")
        if line == "event: succeeded":
            self.saw_the_end = True
        elif name == "data":
            done = (json.loads(value).get("progress") or {}).get("done") or 0
            if done > self._done:
                self._done = done
                self.heard.append(time.monotonic())

    def leave(self) -> None:
        """The storm is over; what is left to be heard is the end."""
        self._over.touch()
        self.join(SILENCE)
        self._given_up.set()

    def heard_after(self, moment: float) -> float | None:
        """How many seconds later the next step was heard of; none if it stood still from then on."""
        return min((heard - moment for heard in self.heard if heard > moment), default=None)


@contextmanager
def watched(address: str, folder: Path) -> Iterator[Watcher]:
    watcher = Watcher(address, folder)
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.leave()
