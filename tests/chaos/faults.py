"""What is done to them. A fault strikes, lasts, and is over when its function returns."""

import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psycopg

from tests.chaos.clock import move_clock
from tests.chaos.crew import Crew
from tests.chaos.server import Server
from tests.chaos.wire import Wire

HALF_A_SECOND = 0.5
A_TENTH = 0.1


@dataclass(frozen=True)
class Stage:
    server: Server
    wire: Wire
    crew: Crew
    dice: random.Random

    def last(self, least: float, most: float) -> None:
        time.sleep(self.dice.uniform(least, most))

    @property
    def past_the_lease(self) -> float:
        """Seconds after which a silent worker has surely lost its jobs to others."""
        return 1.5 * self.crew.lease + 1.0


Fault = Callable[[Stage], str]
"""Returns what exactly it did."""


def slow_down(stage: Stage) -> None:
    """Just before a blow to the wire or the server, so that many a commit is under way when it falls."""
    stage.wire.order(f"delay {A_TENTH}")
    stage.last(0.5, 1.0)


def kill_workers(stage: Stage) -> str:
    workers = sorted(stage.crew.workers)
    hit = stage.dice.sample(workers, stage.dice.randint(1, len(workers)))
    for name in hit:
        stage.crew.kill_worker(name)
    stage.last(0.0, 1.0)
    for name in hit:
        stage.crew.start_worker(name)
    return ", ".join(hit)


def stop_worker(stage: Stage) -> str:
    name = stage.dice.choice(sorted(stage.crew.workers))
    worker = stage.crew.workers[name]
    worker.signal(signal.SIGSTOP)
    time.sleep(stage.past_the_lease)
    worker.signal(signal.SIGCONT)
    return name


def kill_postgres(stage: Stage) -> str:
    slow_down(stage)
    stage.server.kill()
    stage.wire.order("heal")
    stage.last(0.0, 1.0)
    stage.server.start()
    return "all its processes"


def cut(stage: Stage) -> str:
    slow_down(stage)
    stage.wire.order("cut")
    stage.last(0.0, 2.0)
    stage.wire.order("heal")
    return "all connections"


def delay(stage: Stage) -> str:
    stage.wire.order(f"delay {HALF_A_SECOND}")
    stage.last(3.0, 6.0)
    stage.wire.order("heal")
    return f"{HALF_A_SECOND} s each way"


def half_open(stage: Stage) -> str:
    stage.wire.order("freeze")
    stage.last(1.0, stage.past_the_lease)
    stage.wire.order("heal")
    return "silent, then goes on"


def vanish(stage: Stage) -> str:
    slow_down(stage)
    stage.wire.order("vanish")
    stage.last(1.0, stage.past_the_lease)
    stage.wire.order("heal")
    return "silent for ever, new connections work"


def fill_disk(stage: Stage) -> str:
    disk = stage.server.disk
    assert disk is not None
    disk.fill()
    refusal = _write_until_refused(stage.server)
    stage.last(1.0, 3.0)
    disk.free()
    stage.server.start()
    return refusal


def _write_until_refused(server: Server) -> str:
    """Makes sure that the fault struck; the server may go down over it."""
    try:
        with psycopg.connect(server.url, connect_timeout=5) as connection:
            connection.execute("create table chaos.heavy (text text)")
            connection.execute("alter table chaos.heavy alter text set storage external")
            for _ in range(100):
                connection.execute("insert into chaos.heavy values (repeat('x', 1000000))")
    except psycopg.OperationalError as error:
        return type(error).__name__
    raise AssertionError("the disk is full, but 100 MB could be written")


def move_the_clock(stage: Stage) -> str:
    with stage.server.connect() as connection:
        move_clock(connection, hours=1)
        stage.last(1.0, 4.0)
        move_clock(connection, hours=0)
    return "an hour ahead, and back"


FAULTS: Mapping[str, Fault] = {
    "kill workers": kill_workers,
    "stop a worker": stop_worker,
    "kill postgres": kill_postgres,
    "cut": cut,
    "delay": delay,
    "half-open": half_open,
    "vanish": vanish,
    "full disk": fill_disk,
    "move the clock": move_the_clock,
}

USUAL = tuple(kind for kind in FAULTS if kind != "vanish")
"""Without being named. A connection whose other end takes bytes and never answers is kept by every layer below the
handler, so a handler in the middle of its own statement waits for ever: `vanish` is for looking at the rest."""
