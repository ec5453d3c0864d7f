"""Where sessions meet: each scenario sets a stage and says what may not happen on it, whatever the order.

What may not happen anywhere is in World.check: a job that was acknowledged is lost, one counts twice, a run is accepted
that is not the job's own, a running job has no lease, an order leads to a deadlock (the explorer finds that), or the
tables contradict each other. It is looked at once more after a last worker has done everything that is left: no order
may leave a job where nobody finds it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from penstock.engine import commands
from penstock.flow import Flow
from penstock.job import JobState, NewJob, new_job_id
from tests.engine.hand import Hand, Worker
from tests.engine.invariants import check_invariants
from tests.interleavings import programs
from tests.interleavings.explorer import COMMIT, Program
from tests.interleavings.programs import Ledger

_NAMES = UUID("6f0d3c0e-7a60-4f0c-8a0b-6f1f1c1f5a11")

_TABLES = (
    "jobs, history, payloads, errors, edges, steps, waits, events, mailboxes, leases, heartbeats, leader, waiting, "
    "floors, idempotency_keys, queues"
)
_DELETES = "".join(f"delete from penstock.{table}; " for table in _TABLES.split(", "))
CLEANING = f"create function pg_temp.clean() returns void language plpgsql as $$ begin {_DELETES} end $$"
"""A function for its plans, which are made once: some of the tables have many partitions."""


@dataclass
class World:
    """The stage of one order."""

    hand: Hand
    ledger: Ledger = field(default_factory=Ledger)
    forgiven: set[str] = field(default_factory=set)
    """What somebody cancelled: it need not succeed."""
    looks: list[Callable[[], None]] = field(default_factory=list)
    """What else must be true in the end."""

    def reset(self) -> None:
        self.hand.do("select pg_temp.clean()")

    def add(self, kind: str = "work", **about: object) -> str:
        id = str(self.hand.add(kind, **about))
        self.ledger.enqueued.append(id)
        return id

    def run(self, worker: Worker, queue: str = "default") -> programs.Claim:
        """A run of this worker's that has begun."""
        job = worker.claim_one(queue)
        return str(job.id), job.claims

    def drain(self) -> bool:
        """What is left is done by somebody else, later: all leases have ended, all delays are over. Whether any was."""
        queues = "select distinct queue from penstock.jobs"
        if not self.hand.rows(queues):
            return False
        self.hand.move_clock(hours=10)
        last = self.hand.worker("last", seconds=3600)
        for _ in range(6):
            self.hand.run(commands.Reclaim())
            self.hand.run(commands.Promote())
            if not (left := self.hand.rows(queues)):
                break
            for (queue,) in left:
                for job in last.claim(100, queue):
                    assert last.complete(job) == [], f"a run that nobody disturbed was refused: {self.hand.row(job.id)}"
                    self.ledger.accepted.append((str(job.id), job.claims))
        self.hand.set_clock(None)
        return True

    def check(self) -> None:
        check_invariants(self.hand)
        assert not programs.twice(self.ledger), f"accepted twice: {self.ledger.accepted}"
        orphans = (
            "select id from penstock.jobs where state = 'running' and lease not in (select id from penstock.leases)"
        )
        assert self.hand.rows(orphans) == [], "a running job is of no lease: nobody takes it back"
        for (id, number), lease in self.ledger.accepted_under.items():
            [held] = self.hand.rows("select lease, claims from penstock.history where id = %s", id)
            assert held == (lease, number), f"{id} was accepted by {lease}, {number}, and was held by {held}"

    def check_the_end(self) -> None:
        if self.drain():
            self.check()
        for id in self.ledger.enqueued:
            state = self.hand.state(UUID(id))
            assert state.final, f"{id} is left {state}: {self.hand.row(UUID(id))}"
            won = id in {job for job, _ in self.ledger.accepted}
            assert won == (state is JobState.SUCCEEDED), f"{id} is {state}, and was told of: {won}"
            assert won or id in self.forgiven, f"{id} did not succeed: {self.hand.row(UUID(id))}"
        for look in self.looks:
            look()


def at(seconds: float, statement: str) -> str:
    """What a session says when it is so much later, by its clock."""
    clock = f"(clock_timestamp() + interval '{seconds} seconds')::text"
    return f"select set_config('penstock_clock.now', {clock}, true); {statement}"


Scenario = Callable[[World], Sequence[Program]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(make: Scenario) -> Scenario:
    SCENARIOS[make.__name__.replace("_", " ")] = make
    return make


@scenario
def two_workers_and_one_job(world: World) -> Sequence[Program]:
    world.add()
    first, second = world.hand.worker("first"), world.hand.worker("second")
    return [programs.works(world.ledger, worker.lease) for worker in (first, second)]


@scenario
def a_late_worker_a_reclaim_and_another_worker(world: World) -> Sequence[Program]:
    world.add()
    late, other = world.hand.worker("late", seconds=30), world.hand.worker("other", seconds=7200)
    run = world.run(late)
    return [
        programs.completes(world.ledger, late.lease, run),
        programs.says(at(3600, "select penstock.reclaim()")),
        programs.works(world.ledger, other.lease),
    ]


@scenario
def the_same_report_twice_and_a_snooze_between(world: World) -> Sequence[Program]:
    """A report whose answer was lost is sent again, while the same worker has the job by another claim."""
    world.add()
    worker = world.hand.worker(seconds=7200)
    run = world.run(worker)
    return [
        programs.completes(world.ledger, worker.lease, run),
        programs.says(programs.report("snooze", worker.lease, run, "array[0]::float8[]")),
        programs.works(world.ledger, worker.lease),
    ]


@scenario
def a_failure_and_a_reclaim(world: World) -> Sequence[Program]:
    world.add(max_attempts=9)
    late, other = world.hand.worker("late", seconds=30), world.hand.worker("other", seconds=7200)
    run = world.run(late)
    error = """'[{"error": "boom", "retry_in": 0}]'"""
    return [
        programs.says(programs.report("fail", late.lease, run, error)),
        programs.says(at(3600, "select penstock.reclaim()")),
        programs.works(world.ledger, other.lease),
    ]


@scenario
def a_cancellation_a_claim_and_a_reclaim(world: World) -> Sequence[Program]:
    world.forgiven.add(id := world.add())
    worker = world.hand.worker(seconds=30)
    return [
        programs.works(world.ledger, worker.lease),
        programs.says(f"select penstock.cancel(array['{id}']::uuid[])"),
        programs.says(at(3600, "select penstock.reclaim()")),
    ]


@scenario
def a_heartbeat_and_a_reclaim_at_the_last_moment(world: World) -> Sequence[Program]:
    """The heartbeat comes at the same time as the reclaim, which has seen the lease's end already."""
    world.add()
    worker = world.hand.worker(seconds=30)
    other = world.hand.worker("other", seconds=7200)
    run = world.run(worker)

    def beats() -> Program:
        alive = yield at(29, f"select alive from penstock.heartbeat({worker.lease})")
        yield COMMIT
        if alive == [("t",)]:
            yield from programs.accept(world.ledger, worker.lease, run)
            assert run in world.ledger.accepted, "a worker that was told it lives had lost its job"

    return [
        beats(),
        programs.says(at(31, "select penstock.reclaim()")),
        programs.works(world.ledger, other.lease),
    ]


@scenario
def a_worker_that_leaves_while_it_claims(world: World) -> Sequence[Program]:
    world.add()
    leaving = world.hand.worker("leaving", seconds=7200)
    return [
        programs.takes(leaving.lease),
        programs.says(f"select penstock.close_lease({leaving.lease})"),
        programs.says("select penstock.reclaim(p_everywhere => true)"),
    ]


@scenario
def a_job_that_is_handed_to_a_worker_that_leaves(world: World) -> Sequence[Program]:
    idle = world.hand.worker("idle", seconds=30)
    world.hand.do("select penstock.wait_for_work(%s, array['default'], p_direct => true)", idle.lease)
    other = world.hand.worker("other", seconds=7200)
    return [
        programs.hands(world.ledger, uuid5(_NAMES, "handed")),
        programs.says(f"select penstock.close_lease({idle.lease})"),
        programs.works(world.ledger, other.lease),
    ]


@scenario
def a_job_that_is_handed_to_a_worker_that_is_lost(world: World) -> Sequence[Program]:
    idle = world.hand.worker("idle", seconds=30)
    world.hand.do("select penstock.wait_for_work(%s, array['default'], p_direct => true)", idle.lease)
    return [
        programs.hands(world.ledger, uuid5(_NAMES, "handed")),
        programs.says(at(3600, "select penstock.reclaim()")),
        programs.says("select penstock.reclaim(p_everywhere => true)"),
    ]


@scenario
def a_client_that_dies_beside_one_that_lives(world: World) -> Sequence[Program]:
    worker = world.hand.worker(seconds=7200)
    return [
        programs.dies_saying(f"select penstock.enqueue_plain('{uuid5(_NAMES, 'never')}', 'work')"),
        programs.enqueues(world.ledger),
        programs.works(world.ledger, worker.lease),
    ]


@scenario
def two_children_that_end_at_once(world: World) -> Sequence[Program]:
    """The flow goes on once, when the second of them has ended."""
    flow = Flow(then=NewJob(kind="last"))
    for _ in range(2):
        flow.add(NewJob(kind="work"))
    jobs = flow.jobs()
    world.hand.enqueue(*jobs)
    world.ledger.enqueued += [str(job.id) for job in jobs]
    worker = world.hand.worker(seconds=7200)
    first, second = world.run(worker), world.run(worker)
    return [
        programs.completes(world.ledger, worker.lease, first),
        programs.completes(world.ledger, worker.lease, second),
        programs.works(world.ledger, worker.lease),
    ]


@scenario
def a_flow_that_is_cancelled_while_its_children_fail(world: World) -> Sequence[Program]:
    """Each of the three ends the whole flow."""
    flow = Flow(then=NewJob(kind="last"))
    for _ in range(2):
        flow.add(NewJob(kind="work"))
    jobs = flow.jobs()
    root = world.hand.enqueue(*jobs)[0].id
    world.ledger.enqueued += [str(job.id) for job in jobs]
    world.forgiven |= set(world.ledger.enqueued)
    error = """'[{"error": "boom", "final": true}]'"""
    worker = world.hand.worker(seconds=7200)
    first, second = world.run(worker), world.run(worker)
    return [
        programs.says(programs.report("fail", worker.lease, first, error)),
        programs.says(programs.report("fail", worker.lease, second, error)),
        programs.says(f"select penstock.cancel(array['{root}']::uuid[])"),
    ]


@scenario
def a_cancellation_of_a_job_that_calls(world: World) -> Sequence[Program]:
    """Who cancels it has looked for what it called before there was any."""
    world.forgiven.add(world.add())
    worker = world.hand.worker(seconds=7200)
    id, number = world.run(worker)
    called = new_job_id()
    step = f'{{"name": "call", "kind": "call", "number": 1, "ids": ["{called}"]}}'
    jobs = f'[{{"id": "{called}", "kind": "called"}}]'

    def calls() -> Program:
        yield f"select state from penstock.suspend({worker.lease}, '{id}', {number}, '{step}', '{jobs}')"
        yield COMMIT

    def look() -> None:
        ran = world.hand.rows("select claims from penstock.history where kind = 'called' and state = 'succeeded'")
        assert not ran, "what a cancelled job called was run to its end"

    world.looks.append(look)
    return [
        calls(),
        programs.says(f"select penstock.cancel(array['{id}']::uuid[])"),
    ]


def _waits(world: World, timeout: str = "null") -> tuple[Program, Callable[[], str | None]]:
    """A worker that runs a job until it waits for an event; and what came of that in the end."""
    world.add()
    worker = world.hand.worker(seconds=7200)
    run = world.run(worker)
    step = (
        '{"name": "payment", "kind": "event", "number": 1, "version": 1, "event": "paid", "key": "order 1", '
        f'"timeout": {timeout}}}'
    )

    def waits() -> Program:
        rows = yield f"select state from penstock.suspend({worker.lease}, '{run[0]}', {run[1]}, '{step}')"
        yield COMMIT
        if rows == [("running",)]:  # it was there already
            yield from programs.accept(world.ledger, worker.lease, run)

    def received() -> str | None:
        payload: str | None = world.hand.value("select output->'payload' from penstock.steps where name = 'payment'")
        return payload

    return waits(), received


def _each_event_is_had_once(world: World, received: Callable[[], str | None]) -> None:
    kept = [payload for (payload,) in world.hand.rows("select payload from penstock.events")]
    had = [payload for payload in [received()] if payload is not None]
    assert sorted(had + kept) == sorted(world.ledger.emitted), f"{had} was received, {kept} is kept"


@scenario
def an_event_another_and_a_job_that_comes_to_wait(world: World) -> Sequence[Program]:
    waits, received = _waits(world)

    def look() -> None:
        _each_event_is_had_once(world, received)
        assert received() is not None, "it waits for ever, beside an event that is kept"

    world.looks.append(look)
    return [waits, programs.emits(world.ledger, "first"), programs.emits(world.ledger, "second")]


@scenario
def an_event_at_the_moment_its_wait_times_out(world: World) -> Sequence[Program]:
    waits, received = _waits(world, timeout="60")
    world.looks.append(lambda: _each_event_is_had_once(world, received))
    return [
        waits,
        programs.emits(world.ledger, "late"),
        programs.says(at(120, "select penstock.promote()")),
    ]


@scenario
def an_event_and_a_cancellation_of_who_waits(world: World) -> Sequence[Program]:
    waits, received = _waits(world)
    world.hand.do(next(waits))
    world.forgiven.update(world.ledger.enqueued)
    world.looks.append(lambda: _each_event_is_had_once(world, received))
    return [
        programs.emits(world.ledger, "first"),
        programs.says(f"select penstock.cancel(array['{world.ledger.enqueued[0]}']::uuid[])"),
    ]


@scenario
def two_retries_of_one_job(world: World) -> Sequence[Program]:
    id = world.add(max_attempts=1)
    worker = world.hand.worker(seconds=7200)
    worker.fail(worker.claim_one())
    return [
        programs.says(f"select penstock.retry(array['{id}']::uuid[])"),
        programs.says(f"select penstock.retry(array['{id}']::uuid[])"),
        programs.works(world.ledger, worker.lease),
    ]


@scenario
def two_that_promote_and_one_that_cancels(world: World) -> Sequence[Program]:
    world.hand.move_clock(hours=-1)
    world.forgiven.add(id := world.add(delay=60))
    world.hand.set_clock(None)
    return [
        programs.says("select penstock.promote()"),
        programs.says("select penstock.promote()"),
        programs.says(f"select penstock.cancel(array['{id}']::uuid[])"),
    ]


@scenario
def two_clients_with_one_key_and_a_worker(world: World) -> Sequence[Program]:
    worker = world.hand.worker(seconds=7200)
    return [
        programs.enqueues(world.ledger, unique_key="same"),
        programs.enqueues(world.ledger, unique_key="same"),
        programs.works(world.ledger, worker.lease),
    ]


@scenario
def two_claims_under_a_limit(world: World) -> Sequence[Program]:
    world.hand.set_queue("default", max_running=1)
    world.add()
    world.add()
    first, second = world.hand.worker("first", seconds=7200), world.hand.worker("second", seconds=7200)
    return [programs.takes(worker.lease) for worker in (first, second)]
