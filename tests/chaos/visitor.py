"""A visitor of the API: starts a job, watches its stream to the end, and begins anew, whatever happens meanwhile."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import httpx

from tests.chaos.ledger import Fates
from tests.chaos.programs import Program
from tests.kit.serving import AS_SERVICE

ANSWER = 3.0
SILENCE = 20.0
"""Seconds without a word on a stream, which says something every fifteen."""


class Visitor(threading.Thread):
    """Keeps the times between which each visit was served from its first request to its job's end."""

    def __init__(self, address: str, fates: Fates, headers: Mapping[str, str]) -> None:
        super().__init__(name="visitor", daemon=True)
        self.address = address
        self.visits: list[tuple[float, float]] = []
        self.leaving = threading.Event()
        self._fates = fates
        self._client = httpx.Client(base_url=address, headers=dict(headers), timeout=ANSWER)

    def run(self) -> None:
        while not self.leaving.is_set():
            self._visit()
        self._client.close()

    def _visit(self) -> None:
        # the same key until there is an answer: a start that was not heard of is not started twice
        key = str(uuid4())
        while True:
            began = time.monotonic()
            if id := self._start(key):
                break
            time.sleep(0.1)
        self._fates.write("committed", [UUID(id)])
        while not self._sees_the_end(id):
            time.sleep(0.1)
        self.visits.append((began, time.monotonic()))

    def _start(self, key: str) -> str | None:
        try:
            answer = self._client.post("/api/jobs", json={"kind": "swift"}, headers={"Idempotency-Key": key})
        except httpx.TransportError:
            return None
        return str(answer.json()["id"]) if answer.status_code == 202 else None

    def _sees_the_end(self, id: str) -> bool:
        try:
            with self._client.stream("GET", f"/api/jobs/{id}/stream", timeout=SILENCE) as stream:
                return any(line == "event: succeeded" for line in stream.iter_lines())
        except httpx.TransportError:
            return False

    def leave(self) -> None:
        """At the end of the visit."""
        self.leaving.set()
        self.join(SILENCE)

    def served_after(self, moment: float) -> float | None:
        """How many seconds later the first visit that began after it was over; none if there was no such visit."""
        return min((ended - moment for began, ended in self.visits if began > moment), default=None)


@contextmanager
def visited(url: str, folder: Path, headers: Mapping[str, str] = AS_SERVICE) -> Iterator[Visitor]:
    program = Program("api", url, log=folder / "api.log")
    visitor = Visitor(program.read_line(), Fates(folder, "visitor"), headers)
    visitor.start()
    try:
        yield visitor
    finally:
        visitor.leave()
        program.kill()
