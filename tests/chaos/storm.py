"""The whole of it: start everything, strike at random, let it drain, and reckon."""

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import psycopg

from penstock.engine.postgres.migrate import migrate
from tests.chaos.clock import CLOCK, move_clock
from tests.chaos.crew import Crew
from tests.chaos.faults import FAULTS, USUAL, Stage
from tests.chaos.guarded import AS_A_USER, guarded, open_to_all
from tests.chaos.ledger import TABLES, Reckoning, reckon
from tests.chaos.probes import Probes, Recovery
from tests.chaos.server import Reached, run_server
from tests.chaos.visitor import visited
from tests.chaos.wire import open_wire

ALLOWED = 10.0
"""Seconds within which everybody must be back at work."""

DRAIN = 30.0
ANY = "select count(*) from penstock.jobs"
DUE = f"""
    {ANY} as j left join penstock.leases_now as l on l.id = j.lease
     where coalesce(l.expires_at, j.run_at) < penstock.clock() + interval '30 minutes'
"""


@dataclass(frozen=True)
class Plan:
    seed: int
    seconds: float = 240.0
    faults: Sequence[str] = USUAL
    lease: float = 3.0
    workers: int = 3
    producers: int = 3
    guarded: bool = False
    """With a login of its own for each, none of which owns anything, and all through PgBouncer in transaction mode."""
    logs: Path | None = None
    """Where to leave the logs and ledgers; otherwise they are gone in the end."""
    allowed: float = ALLOWED


@dataclass(frozen=True)
class Struck:
    kind: str
    what: str
    recovery: Recovery


@dataclass(frozen=True)
class Outcome:
    seed: int
    struck: Sequence[Struck]
    left_out: Sequence[str]
    ended: Sequence[str]
    """Programs that ended though nobody told them to."""
    drained: bool
    reckoning: Reckoning
    allowed: float

    @property
    def recovery(self) -> float:
        return max((each.recovery.seconds for each in self.struck), default=0.0)

    @property
    def good(self) -> bool:
        return not self.reckoning.red and not self.ended and self.drained and self.recovery <= self.allowed


class Where(Protocol):
    """A stage, whatever its server is."""

    @property
    def server(self) -> Reached: ...
    @property
    def crew(self) -> Crew: ...
    @property
    def dice(self) -> random.Random: ...
    def last(self, least: float, most: float) -> None: ...


S = TypeVar("S", bound=Where)


class Display(Protocol):
    def say(self, line: str) -> None:
        """Something has happened."""

    def now(self, doing: str) -> None:
        """Something is under way."""


def run_storm(plan: Plan, display: Display) -> Outcome:
    small_disk = "full disk" in plan.faults
    with (
        ledger_folder(plan.logs) as folder,
        run_server(display.say, small_disk=small_disk) as server,
        open_wire(server.url, folder) as wire,
    ):
        prepare(server)
        with guarded(server, wire.url) if plan.guarded else open_to_all(wire.url) as urls:
            crew = Crew(urls["worker"], folder, plan.lease, urls["producer"])
            storm = Storm(plan, Stage(server, wire, crew, random.Random(plan.seed)), FAULTS, folder, display)
            try:
                if not plan.guarded:
                    return storm.run()
                with visited(urls["api"], folder, AS_A_USER) as visitor:
                    return storm.run(before_draining=visitor.leave)
            finally:
                crew.kill_all()


def prepare(server: Reached) -> None:
    migrate(server.url)
    with server.connect() as connection:
        connection.execute(TABLES)
        connection.execute(CLOCK)


@contextmanager
def ledger_folder(logs: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="penstock-ledger-"))
    try:
        yield folder
    finally:
        if logs is not None:
            shutil.copytree(folder, logs, dirs_exist_ok=True)
        shutil.rmtree(folder)


class Storm(Generic[S]):
    """Strikes with these faults on this stage, by a plan."""

    def __init__(
        self, plan: Plan, stage: S, faults: Mapping[str, Callable[[S], str]], folder: Path, display: Display
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._faults = faults
        self._folder = folder
        self._say = display.say
        self._now = display.now
        self._probes = Probes(stage.server, stage.crew, folder)
        self._ended: list[str] = []

    def run(self, before_draining: Callable[[], None] = lambda: None) -> Outcome:
        crew = self._stage.crew
        for number in range(1, self._plan.workers + 1):
            crew.start_worker(f"worker-{number}")
        for number in range(1, self._plan.producers + 1):
            crew.start_producer(f"producer-{number}", self._plan.seed + number)
        ready = self._probes.measure(time.monotonic())
        self._say(f"everybody is at work after {ready.seconds:.1f} s")
        struck = self._strike()
        self._note_ended()
        self._now("draining")
        crew.finish_producers()
        before_draining()
        drained = self._drain()
        crew.kill_all()
        self._probes.close()
        with self._stage.server.connect() as connection:
            reckoning = reckon(connection, self._folder)
        left_out = [kind for kind in self._plan.faults if kind not in self._possible()]
        return Outcome(self._plan.seed, struck, left_out, self._ended, drained, reckoning, self._plan.allowed)

    def _possible(self) -> list[str]:
        return [kind for kind in self._plan.faults if kind != "full disk" or self._stage.server.disk is not None]

    def _strike(self) -> list[Struck]:
        struck: list[Struck] = []
        end = time.monotonic() + self._plan.seconds
        # in rounds, the first of which is always whole: at random, and yet nothing is left to chance
        kinds: list[str] = []
        while len(struck) < len(self._possible()) or time.monotonic() < end:
            if not kinds:
                kinds = self._possible()
                self._stage.dice.shuffle(kinds)
            struck.append(self._strike_once(kinds.pop()))
            self._note_ended()
            self._stage.last(0.5, 2.0)
        return struck

    def _strike_once(self, kind: str) -> Struck:
        self._now(kind)
        what = self._faults[kind](self._stage)
        recovery = self._probes.measure(time.monotonic())
        stuck = f", [red]never heard of again: {', '.join(recovery.stuck)}[/red]" if recovery.stuck else ""
        colour = "green" if recovery.seconds <= self._plan.allowed else "red"
        self._now("running")
        self._say(f"{kind:>16}: {what}; at work again after [{colour}]{recovery.seconds:.2f} s[/{colour}]{stuck}")
        for name in recovery.stuck:
            if name in self._stage.crew.workers:
                self._stage.crew.start_worker(name)
        return Struck(kind, what, recovery)

    def _note_ended(self) -> None:
        """Whoever ended by itself is replaced, so that the rest of the run means something."""
        crew = self._stage.crew
        for name in crew.ended():
            self._ended.append(name)
            self._say(f"[red]{name} has ended by itself[/red]; the end of its log:\n{end_of(crew.log_of(name))}")
            if name in crew.workers:
                crew.start_worker(name)

    def _drain(self) -> bool:
        """Whether all got finished. What was put off or held while the clock was ahead is an hour away: when the rest
        is done, that hour passes. Not before, for then every lease ends, which would free a job that nobody runs."""
        with self._stage.server.connect() as connection:
            drained = self._empties(connection, DUE)
            if "move the clock" in self._plan.faults:
                move_clock(connection, hours=1)
            return self._empties(connection, ANY) and drained

    def _empties(self, connection: psycopg.Connection[Any], left: str) -> bool:
        deadline = time.monotonic() + DRAIN
        while connection.execute(left.encode()).fetchall() != [(0,)]:
            if time.monotonic() > deadline:
                self._probes.write_what_is_there(connection, "the queue")
                return False
            time.sleep(0.05)
        return True


def end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
