"""Flows: a job that waits for other jobs. Built as plain values; the engine does the waiting."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal
from uuid import UUID

from penstock.errors import InvalidFlow
from penstock.job import NewJob, new_job_id

Policy = Literal["cancel", "continue"]
"""What a flow does when one of its jobs fails for good: cancel the rest, or go on and report what succeeded."""

BATCH = "batch"
"""The kind of a flow that has no handler of its own."""


@dataclass(slots=True)
class _Allowance:
    most: int
    left: int

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise InvalidFlow("", f"asks for more than {self.most:,} jobs at once")


_allowance: ContextVar[_Allowance | None] = ContextVar("penstock jobs of a flow", default=None)


@contextmanager
def at_most(jobs: int) -> Iterator[None]:
    """Flows that are composed inside must not have more jobs than that, all together."""
    token = _allowance.set(_Allowance(jobs, jobs))
    try:
        yield
    finally:
        _allowance.reset(token)


@dataclass(eq=False, slots=True)
class Node:
    """A place in a flow. `node.waits_for(other)` adds an edge later than `add(after=…)` can."""

    work: "NewJob | Flow"
    phase: str
    weight: float
    name: str | None
    part: str | None = None
    after: list["Node"] = field(default_factory=list)

    def waits_for(self, *others: "Node") -> "Node":
        self.after.extend(others)
        return self


class Flow:
    """Jobs that belong together. `then` is the flow's own last step; without it the flow ends by itself.

    `phases` gives named phases their range of the flow's percentage, e.g. {"text": (10, 50)}: it stays within the range
    of the first phase that is not through, whatever later ones have done. Phases that are only named on jobs share
    100 % by the weight of their jobs.

    ```python
    flow = Flow(then=greet.prepare("everybody"), phases={"first": (0, 40), "second": (40, 90)})
    first = flow.add(greet.prepare("Ada"), phase="first")
    flow.add(greet.prepare("Grace"), after=[first], phase="second")
    app.enqueue(flow)
    ```
    """

    def __init__(
        self,
        then: NewJob | None = None,
        *,
        policy: Policy = "cancel",
        phases: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        if policy not in ("cancel", "continue"):
            raise InvalidFlow("policy", f"{policy!r} is neither 'cancel' nor 'continue'")
        for name, (start, end) in (phases or {}).items():
            if not 0 <= start <= end <= 100:
                raise InvalidFlow("phases", f"{name!r} must have a range within 0 and 100, not {start} to {end}")
        self.root = then or NewJob(kind=BATCH)
        self._hollow = then is None
        self._policy = policy
        self._phases = dict(phases or {})
        self._nodes: list[Node] = []

    def add(
        self,
        work: "NewJob | Flow",
        *,
        after: Iterable[Node] = (),
        phase: str = "",
        weight: float | None = None,
        name: str | None = None,
        part: str | None = None,
    ) -> Node:
        """Adds a job, or a whole flow, that starts when everything in `after` has succeeded.

        Its phase and its weight are those given here, or the job's own, or none and 1.
        Jobs of the same `part` are counted as one: "7 of 16 documents". Where a part is named, jobs without one are not
        counted.
        """
        if (allowance := _allowance.get()) is not None:
            allowance.take()
        own = work if isinstance(work, NewJob) else work.root
        phase = phase or own.phase or ""
        if weight is None:
            weight = own.weight or 1.0
        if not weight > 0:
            raise InvalidFlow("weight", f"must be positive, not {weight}")
        if self._phases and phase not in self._phases:
            raise InvalidFlow("phase", f"{phase!r} is none of this flow's phases: {', '.join(self._phases)}")
        if isinstance(work, NewJob) and work.unique_key is not None:
            raise InvalidFlow("unique", "belongs to the flow (its `then`), not to a job inside it")
        node = Node(work, phase, weight, name, part, list(after))
        self._nodes.append(node)
        return node

    def jobs(self) -> list[NewJob]:
        """The flow as jobs to enqueue: the root first, then every job after what it waits for."""
        return self._place((), ())

    def __len__(self) -> int:
        return len(self._nodes)

    def _place(self, after: tuple[UUID, ...], within: tuple["Flow", ...]) -> list[NewJob]:
        """Ids ascend from what is waited for to what waits, and from child to parent: rows are locked by that order."""
        if self in within:
            raise InvalidFlow("flow", f"{self.root.kind!r} contains itself")
        heads: dict[Node, UUID] = {}
        groups: list[list[NewJob]] = []
        for node in self._in_order():
            waits = tuple(heads[other] for other in node.after) or after
            if isinstance(node.work, Flow):
                head, *inner = node.work._place(waits, (*within, self))  # noqa: SLF001 - another of its own
            else:
                head, inner = replace(node.work, id=new_job_id(), after=waits + node.work.after), []
            named = {"name": node.name, "part": node.part}
            options = dict(head.options or {}) | {key: value for key, value in named.items() if value}
            head = replace(head, phase=node.phase or None, weight=node.weight, options=options or None)
            heads[node] = head.id
            groups.append([head, *inner])
        root = replace(self.root, id=new_job_id(), rollup=self._rollup())
        return [root] + [job for head, *inner in groups for job in (replace(head, parent=root.id), *inner)]

    def _in_order(self) -> Iterator[Node]:
        if not self._nodes:
            raise InvalidFlow("flow", "has no jobs: add at least one")
        own = set(self._nodes)
        for node in self._nodes:
            if not own.issuperset(node.after):
                raise InvalidFlow("after", "names a job of another flow; jobs wait for jobs of their own flow")
        # sorted by what they wait for, otherwise in the order they were added
        sorter = TopologicalSorter({node: node.after for node in self._nodes})
        try:
            sorter.prepare()
        except CycleError as error:
            cycle = " → ".join(_describe(node) for node in reversed(error.args[1]))
            raise InvalidFlow("after", f"jobs wait for each other in a circle: {cycle}") from None
        place = {node: index for index, node in enumerate(self._nodes)}
        while sorter.is_active():
            for node in sorted(sorter.get_ready(), key=place.__getitem__):
                yield node
                sorter.done(node)

    def _rollup(self) -> dict[str, Any]:
        weights: dict[str, float] = dict.fromkeys(self._phases, 0.0)
        for node in self._nodes:
            weights[node.phase] = weights.get(node.phase, 0.0) + node.weight
        total = sum(weights.values())
        parts = Counter(node.part for node in self._nodes if node.part)
        return ({"parts": dict(parts)} if parts else {}) | {
            "policy": self._policy,
            "hollow": self._hollow,
            "total": len(self._nodes),
            "succeeded": 0,
            "failed": 0,
            "cancelled": 0,
            "start": min((start for start, _ in self._phases.values()), default=0),
            "phases": [
                {"name": name, "weight": weight, "done": 0, **self._range_of(name, 100 * weight / total)}
                for name, weight in weights.items()
            ],
        }

    def _range_of(self, phase: str, share: float) -> dict[str, float]:
        if phase not in self._phases:
            return {"span": share}
        start, end = self._phases[phase]
        return {"from": start, "span": end - start}


def batch(jobs: Iterable[NewJob], *, policy: Policy = "continue") -> Flow:
    """Jobs enqueued and watched as one, each on its own: partial success is a success that says so.

    ```python
    job = app.enqueue(batch(greet.prepare(name) for name in ("Ada", "Grace")))
    print(job.refresh().progress)
    ```
    """
    flow = Flow(policy=policy)
    for job in jobs:
        flow.add(job)
    return flow


def _describe(node: Node) -> str:
    work = node.work.root if isinstance(node.work, Flow) else node.work
    return node.name or work.kind
