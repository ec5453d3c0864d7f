"""What lets a handler go on where an earlier run of it ended. A run begins from the start and asks for each of its
steps again: what is remembered is given back without being done once more, and what it waits for ends the run until it
is there."""

import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, get_args
from uuid import UUID, uuid5

import msgspec

from penstock.automatic_names import AutomaticNames
from penstock.engine.commands import Progress, RecallSteps, RememberStep, Step, Suspend, WaitingStep
from penstock.engine.commands.steps import MOST_CALLS
from penstock.errors import InvalidInput, LeaseLost, PenstockError, ReplayMismatch, WaitTimeout
from penstock.event import APPROVAL, Key, checked_event, checked_key, checked_seconds, checked_step
from penstock.job import ClaimedJob, JobState, Lease, NewJob
from penstock.json import clean, encode_output, loads_anyway
from penstock.outcome import OtherVersion, Suspended
from penstock.wait_results import Approval, Approver, Called

T = TypeVar("T")
Asking = Generator[Any, Any, T]
"""A script: yields commands, is sent what they give."""

_encode = msgspec.json.Encoder().encode


_LONGEST_QUESTION = 2000
_KINDS = {
    "step": "a step",
    "sleep": "a sleep",
    "call": "a call",
    "event": "a wait for an event",
    "approval": "an approval",
}
_CHANGED = (
    "its handler has changed, or does not do the same each time; give a changed handler another version=, so that "
    "workers of the old one finish what they began"
)


class Replay:
    """Of one run. Steps are told apart by their names; as long as a handler takes one at a time they are numbered, and
    another order than the remembered one is a mistake that is found. Of steps that run beside each other the order is
    nobody's choice, nor is that of what comes after them."""

    def __init__(self, job: ClaimedJob, lease: Lease, version: int | None = None, *, fresh: bool | None = None) -> None:
        self.names = AutomaticNames()
        self._job = job
        self._lease = lease
        self._version = version
        # a first claim has nothing to recall
        self._steps: dict[str, Step] | None = {} if (job.claims <= 1 if fresh is None else fresh) else None
        self._by_number: dict[int, Step] = {}
        self._numbers: dict[str, int | None] = {}
        self._taken = 0
        self._under_way: list[str | None] = []
        self._taken_names: set[str] = set()
        self._failed_names: set[str] = set()
        self._in_order = True
        self._unsaid: Step | None = None
        self._over: Suspended | LeaseLost | None = None

    def end(self, why: Suspended | LeaseLost) -> Suspended | LeaseLost:
        """The run is over, whatever its handler does on its way out. Gives what to raise."""
        self._over = why
        return why

    @contextmanager
    def taking(self, name: str | None = None) -> Iterator[None]:
        """Around each step. One that failed may be taken again in the same run by its name, and is the same step."""
        if self._over is not None:
            # in a `finally`, or where it has caught even that: such a step is for when the job ends, not a run of it
            raise self._over
        if name is not None and (name in self._under_way or name in self._taken_names):
            raise ReplayMismatch(
                f"two steps are called {name!r}: the second would be given the result of the first; give each a name "
                "of its own, by what it is about or how manieth it is"
            )
        if self._under_way:
            self._in_order = False
        self._under_way.append(name)
        inside: set[str] = set()
        try:
            if name is None:
                yield
            else:
                with self.names.of_step(name) as inside:
                    yield
                self._taken_names.add(name)
        except BaseException:
            # what was taken within it is asked for again as well
            self._taken_names -= inside
            self._failed_names |= inside
            if name is not None and name in self._numbers:
                self._failed_names.add(name)
            raise
        finally:
            self._under_way.remove(name)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around each wait: it ends the run, and what still runs beside it would be lost."""
        if self._under_way:
            raise PenstockError(
                "a handler cannot wait while one of its steps or waits is under way: await that first; what is to run "
                "beside other things and be waited for is a job: ctx.gather"
            )
        with self.taking():
            yield

    # Scripts.

    def begin(self) -> Asking[None]:
        """Before the handler does anything: what began with another version is not for it, whether it takes steps or
        none."""
        if self._steps is None and (self._version is not None or _has_waited(self._job)):
            yield from self._load()

    def recall(self, name: str, kind: str = "step") -> Asking[Step | None]:
        """What is remembered of the step that comes now."""
        name = checked_step(name)
        if self._steps is None:
            yield from self._load()
        assert self._steps is not None
        known = self._steps.get(name)
        if name not in self._failed_names:
            self._taken += 1
            self._check(name, known)
            if known is not None:
                _check_same(name, _KINDS[kind], _KINDS.get(known.kind, known.kind))
            self._numbers[name] = self._taken if self._in_order else None
        if self._unsaid is not None:
            # the handler went on after a call that failed: from here on that is how it ended, whoever retries the job
            seen, self._unsaid = self._unsaid, None
            yield from self._remember(seen.name, _encode(seen.output), kind="call")
        return known

    def remember(self, name: str, output: bytes) -> Asking[Any]:
        """Gives the result as a later run would have it."""
        yield from self._remember(name, output, kind="step")
        step = Step(name, msgspec.json.decode(output), number=self._numbers.get(name))
        assert self._steps is not None
        self._steps[name] = step
        return step.output

    def sleep(self, name: str, seconds: float | None, until: datetime | None, said: Progress | None) -> Asking[None]:
        known = yield from self.recall(name, "sleep")
        if known is None or known.waits:
            yield from self._wait(WaitingStep(name, "sleep", seconds=seconds, until=until), said)

    def call(self, name: str, jobs: Sequence[NewJob], said: Progress | None) -> Asking[list[Called]]:
        """What the jobs gave, in their order: CallFailed for one that did not succeed."""
        if len(jobs) > MOST_CALLS:
            raise InvalidInput("jobs", f"{name!r} is of {len(jobs):,}; at most {MOST_CALLS:,} are called at once")
        if any(job.idempotency_key is not None for job in jobs):
            raise InvalidInput(
                "idempotency_key", "a job that is called is its caller's alone, and started once: leave it out"
            )
        known = yield from self.recall(name, "call")
        if known is not None:
            _check_called(name, jobs, known.output)
        if known is None or known.waits:
            mine = [
                replace(
                    job,
                    owner=job.owner or self._job.owner,
                    org=job.org or self._job.org,
                    # whoever enqueues one like it does not get this one, nor the caller theirs
                    unique_key=None,
                )
                for job in jobs
            ]
            step = WaitingStep(name, "call", ids=[job.id for job in mine])
            output = yield from self._wait(step, said, [job.to_json() for job in mine])
        else:
            output = known.output
        seen = output.get("seen", {})
        results = [_result_of({**job, **seen.get(job["id"], {})}) for job in output["jobs"]]
        failed = {
            str(each.id): {"state": each.state, "error": each.error, "type": each.type}
            for each in results
            if _failed(each)
        }
        if failed and not seen:
            remembered = {key: value for key, value in output.items() if key != "jobs"} | {"seen": failed}
            self._unsaid = Step(name, remembered, "call")
        return results

    def wait(self, name: str | None, event: str, key: Key, timeout: float | None, said: Progress | None) -> Asking[Any]:
        """An event's payload."""
        event, key = checked_event(event), checked_key(key)
        given = self.names.of(name or f"wait for {event} {key}"[:200].rstrip())
        return (yield from self._receive(given, event, key, timeout, said))["payload"]

    def _receive(
        self, name: str, event: str, key: str, timeout: float | None, said: Progress | None, about: object = None
    ) -> Asking[Any]:
        """An event's payload, and when it was emitted."""
        if timeout is not None:
            checked_seconds("timeout", timeout)
        kind = "event" if about is None else "approval"
        known = yield from self.recall(name, kind)
        if known is not None:
            _check_same(name, _awaited(event, key), _awaited(known.output["event"], known.output.get("key", "")))
        if known is None or known.waits:
            step = WaitingStep(name, kind, event=event, key=key, timeout=timeout, about=about)
            output = yield from self._wait(step, said)
        else:
            output = known.output
        if "emitted_at" not in output:
            raise WaitTimeout(f"{name}: nothing came in time")
        return output

    def approve(
        self,
        name: str | None,
        question: str,
        timeout: float | None,
        by: Approver,
        details: object,
        said: Progress | None,
    ) -> Asking[Approval]:
        if not isinstance(question, str) or not 0 < len(question) <= _LONGEST_QUESTION:
            raise InvalidInput("question", f"must be a text of 1 to {_LONGEST_QUESTION} characters")
        if by not in get_args(Approver):
            raise InvalidInput("by", f"must be 'operator' or 'owner', not {by!r}")
        if by == "owner" and self._job.owner is None:
            raise InvalidInput("by", "the job has no owner who could be asked")
        about = {"question": clean(question), "details": msgspec.Raw(encode_output(details, "details")), "by": by}
        given = self.names.of(name or f"approve: {question}"[:200])
        # by the job's id first: lists of what is asked go by it
        key = f"{self._job.id} {uuid5(self._job.id, given)}"
        output = yield from self._receive(given, APPROVAL, key, timeout, said, about)
        return msgspec.convert({**output["payload"], "at": output["emitted_at"]}, Approval)

    def uuid(self) -> UUID:
        return uuid5(self._job.id, self.names.in_order("uuid"))

    def random(self) -> float:
        return random.Random(f"{self._job.id} {self.names.in_order('random')}").random()  # noqa: S311 - the same in every run

    def _load(self) -> Asking[None]:
        steps: list[Step] = yield RecallSteps(self._lease, self._job.id, self._job.claims)
        for step in steps:
            if step.version != self._version:
                raise OtherVersion(
                    f"it began with version {step.version or 'none'} of its handler, and this worker has "
                    f"{self._version or 'none'}"
                )
        self._steps = {step.name: step for step in steps}
        self._by_number = {step.number: step for step in steps if step.number is not None}

    def _check(self, name: str, known: Step | None) -> None:
        if known is not None and known.number is None:
            self._in_order = False
        if not self._in_order:
            return
        before = self._by_number.get(self._taken)
        if known is not None and known.number == self._taken:
            return
        if before is not None or known is not None:
            was = f"was {before.name!r}" if before is not None else f"did not come before {name!r}"
            raise ReplayMismatch(f"step {self._taken} is {name!r} now and {was} in an earlier run: {_CHANGED}")

    def _remember(self, name: str, output: bytes, kind: str) -> Asking[None]:
        step = RememberStep(
            self._lease,
            self._job.id,
            self._job.claims,
            name,
            msgspec.Raw(output),
            kind,
            self._numbers.get(name),
            self._version,
        )
        if not (yield step):
            raise self.end(LeaseLost(f"job {self._job.id} is no longer this worker's: step {name!r} is not remembered"))

    def _wait(
        self, step: WaitingStep, said: Progress | None, jobs: Sequence[dict[str, Any]] | None = None
    ) -> Asking[Any]:
        step = msgspec.structs.replace(step, number=self._numbers[step.name], version=self._version)
        suspended = yield Suspend(self._lease, self._job.id, self._job.claims, step, jobs, said)
        if suspended is None or suspended.state is not JobState.RUNNING:
            raise self.end(Suspended(step.name))
        return suspended.output


def _has_waited(job: ClaimedJob) -> bool:
    return job.options is not None and "waits" in loads_anyway(job.options)


def _check_same(name: str, asked: str, remembered: str) -> None:
    """Of one name and place, and all the same another one: its result would be taken for something else's."""
    if asked != remembered:
        raise ReplayMismatch(f"step {name!r} is {asked} now and was {remembered} in an earlier run: {_CHANGED}")


def _awaited(event: str, key: str) -> str:
    return f"a wait for {event} {key}".rstrip()


def _check_called(name: str, jobs: Sequence[NewJob], output: dict[str, Any]) -> None:
    if len(output["ids"]) != len(jobs):
        raise ReplayMismatch(
            f"step {name!r} is of {len(jobs)} jobs now and was of {len(output['ids'])} in an earlier run: "
            "call the same each time, and take from a step what it depends on"
        )
    for job, called in zip(jobs, output["jobs"], strict=True):
        if called["kind"] is not None:  # else it is gone
            _check_same(name, f"a call of {job.kind}", f"a call of {called['kind']}")


def _result_of(job: dict[str, Any]) -> Called:
    return msgspec.convert(job, Called, strict=False)


def _failed(called: Called) -> bool:
    return called.state is not JobState.SUCCEEDED
