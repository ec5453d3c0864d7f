"""A worker goes to sleep while a job is enqueued: it registers, claims once more, and then it must be told."""

from collections.abc import Sequence

from tests.interleavings import programs
from tests.interleavings.explorer import COMMIT, Program
from tests.interleavings.scenarios import World, scenario

PLAIN = "select penstock.enqueue_plain('{id}', 'work')"
GENERAL = """select id from penstock.enqueue_jobs('[{{"kind": "work", "id": "{id}"}}]')"""


@scenario
def a_plain_job_while_a_worker_goes_to_sleep(world: World) -> Sequence[Program]:
    return falls_asleep(world, PLAIN)


@scenario
def a_job_while_a_worker_goes_to_sleep(world: World) -> Sequence[Program]:
    return falls_asleep(world, GENERAL)


def falls_asleep(world: World, enqueue: str, *, claims_again: bool = True) -> Sequence[Program]:
    """Whoever had looked for somebody to tell before the worker registered, and committed after it had claimed again,
    tells nobody: for these a worker looks again after a while (decision 6)."""
    worker = world.hand.worker("tired", seconds=7200)
    world.hand.do(f'listen "{world.hand.value("select wake from penstock.channels")}"')
    list(world.hand.connection.notifies(timeout=0))  # of the orders before
    moments: list[str] = []

    def claims(moment: str) -> Program:
        taken = programs.claims((yield programs.claim(worker.lease)))
        moments.append(moment)
        yield COMMIT
        for run in taken:
            yield from programs.accept(world.ledger, worker.lease, run)

    def goes_to_sleep() -> Program:
        yield from claims("looked")
        yield f"select penstock.wait_for_work({worker.lease}, array['default'])"
        yield COMMIT
        moments.append("registered")
        if claims_again:
            yield from claims("looked again")
        else:
            moments.append("looked again")

    def enqueues(id: str) -> Program:
        yield enqueue.format(id=id)
        moments.append("enqueued")
        yield COMMIT
        moments.append("committed")
        world.ledger.enqueued.append(id)

    def look() -> None:
        claimed = worker.lease in world.ledger.accepted_under.values()
        told = str(worker.lease) in {notice.payload for notice in world.hand.connection.notifies(timeout=0)}
        meanwhile = moments[moments.index("enqueued") : moments.index("committed")]
        excused = {"registered", "looked again"} <= set(meanwhile)
        assert claimed or told or excused, "a job is ready, and the worker sleeps"

    world.looks.append(look)
    return [goes_to_sleep(), enqueues(str(world.hand.value("select penstock.uuid7()")))]
