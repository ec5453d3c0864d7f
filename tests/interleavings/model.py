"""The protocol between workers and the database as a small model, and all the states that it can get into.

The real SQL is explored beside it (explorer.py), where a transaction meets a transaction. Here a report meets a lost
answer: what workers send may be late, come twice or never, workers die, leases end whenever they like, and the
answer to a claim or a notification of a job that was handed over may be lost. One job, two workers; somebody may
cancel it, and it may wait for an event, of which there are as many as it is said.

A state is a tuple of tuples: it is made, hashed and compared a hundred thousand times, which takes a frozen dataclass
several times as long.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Job(StrEnum):
    ABSENT = "absent"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    CANCELLED = "cancelled"


class Run(NamedTuple):
    """What fences a report: whose lease, and which of the job's claims."""

    lease: int
    claims: int


class Worker(NamedTuple):
    lease: int | None = None
    """As it believes; the database may have ended it."""
    runs: frozenset[Run] = frozenset()
    """What its handlers are at."""


class State(NamedTuple):
    job: Job = Job.ABSENT
    lease: int | None = None
    claims: int = 0
    leases: frozenset[int] = frozenset()
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    answers: frozenset[Run] = frozenset()
    """On their way to who opened the lease: answers to claims, and notifications of jobs that were handed over."""
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
        """In the order of their leases: which of the two is which makes no difference, and would double the states."""
        other = self.workers[1 - number]
        in_order = (worker.lease or 0) <= (other.lease or 0)
        return self._replace(workers=(worker, other) if in_order else (other, worker))


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


CANCELLED = "somebody cancels it"
EMITTED = "somebody emits an event"
LOST = "an answer is lost"
DIES = "a worker dies"
ENDS = "a lease ends that a worker believes in"
LUCK = frozenset((CANCELLED, EMITTED, LOST, DIES, ENDS))
"""What need not happen: the job must come to an end without it."""


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
            yield "it is enqueued", state._replace(job=Job.READY)
            for worker in state.workers:
                if worker.lease in state.leases and not worker.runs:
                    run = Run(worker.lease or 0, 1)
                    handed = state._replace(job=Job.RUNNING, lease=run.lease, claims=1, answers=state.answers | {run})
                    yield "it is handed over", handed
        if self.cancels and state.job is not Job.ABSENT and not state.cancel_requested:
            yield CANCELLED, self._cancelled(state)
        if state.emitted < self.events:
            yield EMITTED, self._told(state._replace(emitted=state.emitted + 1))
        for number in range(len(state.workers)):
            yield from self._steps_of_worker(state, number)
        for run in state.answers:
            yield from self._arrives(state, run)
        for what, run in state.reports:
            yield "a report arrives", self._report(state, what, run)
        for lease in state.leases:
            ended = state._replace(leases=state.leases - {lease})
            if state.lease == lease and state.job is Job.RUNNING and self.rules.gives_back_with_the_lease:
                ended = self._given_back(ended)
            believed = any(worker.lease == lease for worker in state.workers)
            yield ENDS if believed else "a lease of nobody ends", ended

    def _cancelled(self, state: State) -> State:
        """What has not begun ends at once; what runs is asked to."""
        if state.job is Job.RUNNING:
            return state._replace(cancel_requested=True)
        if state.job in (Job.READY, Job.WAITING) or not self.rules.spares_the_ended:
            return self._ended(state, Job.CANCELLED)
        return state

    def _ended(self, state: State, how: Job) -> State:
        waits = state.waits and not self.rules.ends_the_wait
        return state._replace(job=how, lease=None, cancel_requested=False, waits=waits)

    def _given_back(self, state: State) -> State:
        if state.cancel_requested and self.rules.ends_what_is_given_back:
            return self._ended(state, Job.CANCELLED)
        return state._replace(job=Job.READY, lease=None)

    def _told(self, state: State) -> State:
        """Of an event: whoever waits has it, or the first that comes to wait."""
        if not state.waits or not self.rules.looks_who_waits:
            return state._replace(kept=state.kept + 1)
        if state.job is not Job.WAITING:
            raise Broken(f"an event is given to a job that is {state.job.value}")
        return state._replace(job=Job.READY, waits=False, had=state.had + 1)

    def _steps_of_worker(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        worker = state.workers[number]
        if worker.lease not in state.leases and not worker.runs and state.opened < self.leases:
            lease = state.opened + 1
            opened = state._replace(opened=lease, leases=state.leases | {lease})
            yield "a worker opens a lease", opened.with_worker(number, Worker(lease))
        if worker.lease in state.leases and state.job is Job.READY and state.claims < self.claims:
            if state.cancel_requested:
                raise Broken("a job is run that somebody cancelled")
            run = Run(worker.lease or 0, state.claims + 1)
            claimed = state._replace(job=Job.RUNNING, lease=run.lease, claims=run.claims, answers=state.answers | {run})
            yield "a worker claims", claimed
        for run in worker.runs:
            after = state.with_worker(number, worker._replace(runs=worker.runs - {run}))
            for what in self._said_of(state):
                yield "a worker reports", after._replace(reports=state.reports | {(what, run)})
        if worker.lease is not None:
            yield DIES, state.with_worker(number, Worker())
        held = state.held
        if self.rules.gives_back_unknown and held and held.lease == worker.lease:
            known = held in state.answers or held in worker.runs or any(run == held for _, run in state.reports)
            if not known:
                yield "a worker gives back what it does not know", self._given_back(state)

    def _said_of(self, state: State) -> Iterator[str]:
        """What a worker may send when it is through with a run."""
        yield "complete"
        if self.events:
            yield "wait"
        else:
            yield "snooze"
        if state.cancel_requested:
            yield "stop"

    def _arrives(self, state: State, run: Run) -> Iterator[tuple[str, State]]:
        without = state._replace(answers=state.answers - {run})
        yield LOST, without
        for number, worker in enumerate(state.workers):
            if worker.lease != run.lease:  # another process by now
                continue
            if not self.rules.looks_before_it_starts or state.held == run:
                if state.held != run:
                    raise Broken(f"a worker starts {run}, which is no longer its own")
                yield "a worker starts", without.with_worker(number, worker._replace(runs=worker.runs | {run}))
            else:
                yield "a worker leaves a run alone", without

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
            return self._ended(state._replace(accepted=(*state.accepted, run)), Job.DONE)
        if what == "stop":
            return self._ended(state, Job.CANCELLED)
        return self._suspended(state, run) if what == "wait" else self._given_back(state)

    def _suspended(self, state: State, run: Run) -> State:
        """Until there is an event; if there is one its worker is told so, and the run goes on."""
        if state.cancel_requested:
            return self._given_back(state)
        if not (state.had and self.rules.remembers_the_event):
            if not (state.kept and self.rules.looks_into_the_mailbox):
                return state._replace(job=Job.WAITING, lease=None, waits=True)
            state = state._replace(kept=state.kept - 1, had=state.had + 1)
        if any(worker.lease == run.lease for worker in state.workers):
            return state._replace(answers=state.answers | {run})
        return state


def explore(model: Model) -> int:
    """All states; how many. Raises Broken for one in which a job counts twice, an accepted outcome is undone or an
    event is had twice; and for one from which the job can never end even though nobody dies, nothing is lost and no
    lease of a living worker ends."""
    states = [State()]
    numbers = {states[0]: 0}
    before: list[list[int]] = [[]]
    """The states from which each is reached without luck."""
    for number, state in enumerate(states):  # which grows meanwhile
        if len(state.accepted) > 1:
            raise Broken(f"accepted twice: {state}")
        if state.accepted and state.job is not Job.DONE:
            raise Broken(f"an accepted outcome is undone: {state}")
        if state.had > 1 or (state.had and state.job is Job.WAITING):
            raise Broken(f"it has had its event, and asks for another: {state}")
        if state.emitted != state.kept + state.had:
            raise Broken(f"an event is lost: {state}")
        for name, after in model.steps(state):
            found = numbers.setdefault(after, len(states))
            if found == len(states):
                states.append(after)
                before.append([])
            if name not in LUCK:
                before[found].append(number)
    _check_that_all_can_end(states, before, model)
    return len(states)


def _check_that_all_can_end(states: list[State], before: list[list[int]], model: Model) -> None:
    good = {number for number, state in enumerate(states) if _has_ended(state) or _is_at_the_bound(state, model)}
    todo = deque(good)
    while todo:
        for earlier in before[todo.popleft()]:
            if earlier not in good:
                good.add(earlier)
                todo.append(earlier)
    if stuck := [state for number, state in enumerate(states) if number not in good]:
        raise Broken(f"the job can never end: {min(stuck, key=lambda state: (state.opened, state.claims))}")


def _has_ended(state: State) -> bool:
    """Or waits for what nobody has sent."""
    return state.job in (Job.DONE, Job.CANCELLED) or (state.job is Job.WAITING and not state.kept)


def _is_at_the_bound(state: State, model: Model) -> bool:
    """The model ends here, not the protocol: nobody is left who could claim."""
    alive = any(worker.lease in state.leases for worker in state.workers)
    return state.claims == model.claims or (state.opened == model.leases and not alive)
