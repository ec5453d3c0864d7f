"""The protocol between workers and the database as a small model, and all the states that it can get into.

The real SQL is explored beside it (explorer.py), where a transaction meets a transaction. Here a report meets a lost
answer: what workers send may be late, come twice or never, workers die, leases end whenever they like, and the
answer to a claim or a notification of a job that was handed over may be lost. One job, two workers; somebody may
cancel it, and it may wait for an event, of which there are as many as it is said.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum


class Job(Enum):
    ABSENT = "absent"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Run:
    """What fences a report: whose lease, and which of the job's claims."""

    lease: int
    claims: int


@dataclass(frozen=True)
class Worker:
    lease: int | None = None
    """As it believes; the database may have ended it."""
    runs: frozenset[Run] = frozenset()
    """What its handlers are at."""


@dataclass(frozen=True)
class State:
    job: Job = Job.ABSENT
    lease: int | None = None
    claims: int = 0
    leases: frozenset[int] = frozenset()
    workers: tuple[Worker, ...] = (Worker(), Worker())
    answers: frozenset[tuple[int, Run]] = frozenset()
    """On their way to a worker: answers to its claims, and notifications of jobs that it was handed."""
    reports: frozenset[tuple[str, Run]] = frozenset()
    """Sent by workers: they may arrive late, and more than once."""
    opened: int = 0
    accepted: tuple[Run, ...] = ()
    cancel_requested: bool = False
    """Of a running job: its worker is asked to stop, and may hear of it late or never."""
    waits: bool = False
    """Whoever emits an event gives it to this job."""
    emitted: int = 0
    kept: int = 0
    """Events that nobody has had yet."""
    had: int = 0
    """Events that the job's step remembers."""

    @property
    def held(self) -> Run | None:
        return Run(self.lease, self.claims) if self.job is Job.RUNNING and self.lease is not None else None

    def with_worker(self, number: int, worker: Worker) -> "State":
        workers = list(self.workers)
        workers[number] = worker
        return replace(self, workers=tuple(workers))


@dataclass(frozen=True)
class Rules:
    """What the protocol does; each that is left out is a way to break it."""

    asks_for_the_lease: bool = True
    asks_for_the_claim: bool = True
    looks_before_it_starts: bool = True
    """A job that was handed over is started once the database has said that it is still held."""
    gives_back_unknown: bool = True
    """What the lease holds and the worker does not know of goes back: its answer was lost."""
    gives_back_with_the_lease: bool = True
    spares_the_ended: bool = True
    """What is told of a job that has ended changes nothing: neither a cancellation, nor that its worker has stopped."""
    ends_what_is_given_back: bool = True
    """A job that somebody cancelled is not run again when its run ends otherwise than by a success."""
    looks_into_the_mailbox: bool = True
    looks_who_waits: bool = True
    remembers_the_event: bool = True
    """Whoever asks again is told the same: the first answer may have been lost, or the worker."""
    ends_the_wait: bool = True
    """A job that ends waits for nothing."""


class Broken(AssertionError):
    """A state that must not be, and how it came to be."""


@dataclass
class Model:
    rules: Rules = field(default_factory=Rules)
    leases: int = 3
    claims: int = 2
    events: int = 0
    """So many of each, and no more: what makes the model end. Without events the job does not wait for one."""
    cancels: bool = False

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """What can happen next."""
        if state.job is Job.ABSENT:
            yield "enqueue", replace(state, job=Job.READY)
            for number, worker in enumerate(state.workers):
                if worker.lease in state.leases and not worker.runs:
                    run = Run(worker.lease or 0, 1)
                    handed = replace(state, job=Job.RUNNING, lease=run.lease, claims=1)
                    yield f"hand over to {number}", replace(handed, answers=state.answers | {(number, run)})
        if self.cancels and state.job is not Job.ABSENT and not state.cancel_requested:
            yield "cancel", self._cancelled(state)
        if state.emitted < self.events:
            yield "emit", self._told(replace(state, emitted=state.emitted + 1))
        for number in range(len(state.workers)):
            yield from self._steps_of_worker(state, number)
        for number, run in state.answers:
            yield from self._arrives(state, number, run)
        for what, run in state.reports:
            yield f"{what} of {run} arrives", self._report(state, what, run)
        for lease in state.leases:
            ended = replace(state, leases=state.leases - {lease})
            if state.lease == lease and state.job is Job.RUNNING and self.rules.gives_back_with_the_lease:
                ended = self._given_back(ended)
            yield f"reclaim {lease}", ended

    def _cancelled(self, state: State) -> State:
        """What has not begun ends at once; what runs is asked to."""
        if state.job is Job.RUNNING:
            return replace(state, cancel_requested=True)
        if state.job in (Job.READY, Job.WAITING) or not self.rules.spares_the_ended:
            return self._ended(state, Job.CANCELLED)
        return state

    def _ended(self, state: State, how: Job) -> State:
        waits = state.waits and not self.rules.ends_the_wait
        return replace(state, job=how, lease=None, cancel_requested=False, waits=waits)

    def _given_back(self, state: State) -> State:
        if state.cancel_requested and self.rules.ends_what_is_given_back:
            return self._ended(state, Job.CANCELLED)
        return replace(state, job=Job.READY, lease=None)

    def _told(self, state: State) -> State:
        """Of an event: whoever waits has it, or the first that comes to wait."""
        if not state.waits or not self.rules.looks_who_waits:
            return replace(state, kept=state.kept + 1)
        if state.job is not Job.WAITING:
            raise Broken(f"an event is given to a job that is {state.job.value}")
        return replace(state, job=Job.READY, waits=False, had=state.had + 1)

    def _steps_of_worker(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        worker = state.workers[number]
        if worker.lease not in state.leases and not worker.runs and state.opened < self.leases:
            lease = state.opened + 1
            opened = replace(state, opened=lease, leases=state.leases | {lease})
            yield f"{number} opens lease {lease}", opened.with_worker(number, Worker(lease))
        if worker.lease in state.leases and state.job is Job.READY and state.claims < self.claims:
            if state.cancel_requested:
                raise Broken("a job is run that somebody cancelled")
            run = Run(worker.lease or 0, state.claims + 1)
            claimed = replace(state, job=Job.RUNNING, lease=run.lease, claims=run.claims)
            yield f"{number} claims", replace(claimed, answers=state.answers | {(number, run)})
        for run in worker.runs:
            after = state.with_worker(number, replace(worker, runs=worker.runs - {run}))
            for what in self._said_of(state):
                yield f"{number} sends {what}", replace(after, reports=state.reports | {(what, run)})
        if worker.lease is not None:
            yield f"{number} dies", state.with_worker(number, Worker())
        held = state.held
        known = {run for who, run in state.answers if who == number} | worker.runs | {run for _, run in state.reports}
        if self.rules.gives_back_unknown and held and held.lease == worker.lease and held not in known:
            yield f"{number} gives back what it does not know", self._given_back(state)

    def _said_of(self, state: State) -> Iterator[str]:
        """What a worker may send when it is through with a run."""
        yield "complete"
        if self.events:
            yield "wait"
        else:
            yield "snooze"
        if state.cancel_requested:
            yield "stop"

    def _arrives(self, state: State, number: int, run: Run) -> Iterator[tuple[str, State]]:
        without = replace(state, answers=state.answers - {(number, run)})
        yield f"an answer to {number} is lost", without
        worker = state.workers[number]
        if worker.lease != run.lease:  # another process by now
            return
        if not self.rules.looks_before_it_starts or state.held == run:
            if state.held != run:
                raise Broken(f"{number} starts {run}, which is no longer its own")
            yield f"{number} starts {run}", without.with_worker(number, replace(worker, runs=worker.runs | {run}))
        else:
            yield f"{number} leaves {run} alone", without

    def _report(self, state: State, what: str, run: Run) -> State:
        rules = self.rules
        if what == "stop" and state.job is Job.DONE and not rules.spares_the_ended:
            return self._ended(state, Job.CANCELLED)
        if state.job not in (Job.RUNNING, Job.READY, Job.WAITING):
            return state
        if rules.asks_for_the_lease and state.lease != run.lease:
            return state
        if rules.asks_for_the_claim and state.claims != run.claims:
            return state
        if state.held != run:
            raise Broken(f"{what} of {run} is believed, and {state.held} has the job")
        if what == "complete":
            return self._ended(replace(state, accepted=(*state.accepted, run)), Job.DONE)
        if what == "stop":
            return self._ended(state, Job.CANCELLED)
        return self._suspended(state, run) if what == "wait" else self._given_back(state)

    def _suspended(self, state: State, run: Run) -> State:
        """Until there is an event; if there is one its worker is told so, and the run goes on."""
        if state.cancel_requested:
            return self._given_back(state)
        if not (state.had and self.rules.remembers_the_event):
            if not (state.kept and self.rules.looks_into_the_mailbox):
                return replace(state, job=Job.WAITING, lease=None, waits=True)
            state = replace(state, kept=state.kept - 1, had=state.had + 1)
        answers = {(number, run) for number, worker in enumerate(state.workers) if worker.lease == run.lease}
        return replace(state, answers=state.answers | answers)


def explore(model: Model) -> int:
    """All states; how many. Raises Broken for one in which a job counts twice, an accepted outcome is undone or an
    event is had twice; and for one from which the job can never end even though nobody dies, nothing is lost and no
    lease of a living worker ends."""
    start = State()
    before: dict[State, set[State]] = {start: set()}
    found = deque([start])
    while found:
        state = found.popleft()
        if len(state.accepted) > 1:
            raise Broken(f"accepted twice: {state}")
        if state.accepted and state.job is not Job.DONE:
            raise Broken(f"an accepted outcome is undone: {state}")
        if state.had > 1 or (state.had and state.job is Job.WAITING):
            raise Broken(f"it has had its event, and asks for another: {state}")
        if state.emitted != state.kept + state.had:
            raise Broken(f"an event is lost: {state}")
        for name, after in model.steps(state):
            if after not in before:
                before[after] = set()
                found.append(after)
            if _needs_no_luck(name, state):
                before[after].add(state)
    _check_that_all_can_end(before, model)
    return len(before)


def _needs_no_luck(name: str, state: State) -> bool:
    if name.startswith("reclaim"):
        return int(name.removeprefix("reclaim ")) not in {worker.lease for worker in state.workers}
    return name not in ("cancel", "emit") and not name.endswith(("dies", "is lost"))


def _check_that_all_can_end(before: dict[State, set[State]], model: Model) -> None:
    good = {state for state in before if _has_ended(state) or _is_at_the_bound(state, model)}
    todo = deque(good)
    while todo:
        for earlier in before[todo.popleft()] - good:
            good.add(earlier)
            todo.append(earlier)
    if stuck := before.keys() - good:
        raise Broken(f"the job can never end: {min(stuck, key=lambda state: (state.opened, state.claims))}")


def _has_ended(state: State) -> bool:
    """Or waits for what nobody has sent."""
    return state.job in (Job.DONE, Job.CANCELLED) or (state.job is Job.WAITING and not state.kept)


def _is_at_the_bound(state: State, model: Model) -> bool:
    """The model ends here, not the protocol: nobody is left who could claim."""
    alive = any(worker.lease in state.leases for worker in state.workers)
    return state.claims == model.claims or (state.opened == model.leases and not alive)
