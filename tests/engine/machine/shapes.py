"""What the state machine enqueues: flows of all shapes, as Hypothesis draws them."""

from dataclasses import dataclass
from uuid import UUID

from hypothesis import strategies as st

from penstock.flow import Flow, Node, Policy
from penstock.job import NewJob

KINDS = ("mill", "saw", "press")
KEYS = ("red", "blue", None)
QUEUES = ("open", "narrow", "keyed", "rated", "fair")

kinds = st.sampled_from(KINDS)
limit_keys = st.sampled_from(KEYS)
queues = st.sampled_from(QUEUES)
budgets = st.integers(1, 3)


@dataclass(frozen=True)
class Leaf:
    kind: str
    queue: str
    limit_key: str | None
    max_attempts: int
    weight: int
    after: tuple[int, ...]

    def add_to(self, flow: Flow, after: list[Node]) -> Node:
        job = NewJob(kind=self.kind, queue=self.queue, limit_key=self.limit_key, max_attempts=self.max_attempts)
        return flow.add(job, weight=self.weight, after=after)


@dataclass(frozen=True)
class Tree:
    policy: Policy
    own_step: bool
    weight: int
    after: tuple[int, ...]
    nodes: tuple["Leaf | Tree", ...]

    def build(self, unique_key: str | None = None, awaited: tuple[UUID, ...] = ()) -> Flow:
        then = NewJob(kind="assemble", queue="open", max_attempts=2, unique_key=unique_key, after=awaited)
        flow = Flow(then if self.own_step or unique_key or awaited else None, policy=self.policy)
        placed: list[Node] = []
        for shape in self.nodes:
            after = [placed[index % len(placed)] for index in shape.after if placed]
            placed.append(shape.add_to(flow, list(dict.fromkeys(after))))
        return flow

    def add_to(self, flow: Flow, after: list[Node]) -> Node:
        return flow.add(self.build(), weight=self.weight, after=after)


_after = st.lists(st.integers(0, 3), max_size=2).map(tuple)
_weights = st.integers(1, 3)
_leaves = st.builds(Leaf, kinds, queues, limit_keys, budgets, _weights, _after)
_policies: st.SearchStrategy[Policy] = st.sampled_from(("cancel", "continue"))


def _trees(nodes: st.SearchStrategy[Leaf | Tree]) -> st.SearchStrategy[Tree]:
    return st.builds(
        Tree, _policies, st.booleans(), _weights, _after, st.lists(nodes, min_size=1, max_size=4).map(tuple)
    )


_nested: st.SearchStrategy[Leaf | Tree] = st.recursive(_leaves, _trees, max_leaves=6)
trees = _trees(_nested)
