"""A flow as jobs: the order of their ids is the order the engine locks rows in."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Flow, NewJob, batch
from penstock.flow import Node


@dataclass(frozen=True)
class Drawing:
    """A random graph: `waits[i]` names earlier places in `rank`, so that the order of adding is any order."""

    rank: list[int]
    waits: list[list[int]]
    nested: list[bool]

    def edges(self) -> list[tuple[int, int]]:
        """(who waits, for whom)"""
        place = {node: index for index, node in enumerate(self.rank)}
        return [
            (node, self.rank[earlier % place[node]])
            for node, chosen in enumerate(self.waits)
            for earlier in chosen
            if place[node] > 0
        ]


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    size = draw(st.integers(1, 8))
    waits = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=size, max_size=size)
    nested = st.lists(st.booleans(), min_size=size, max_size=size)
    return Drawing(draw(st.permutations(range(size))), draw(waits), draw(nested))


def build(drawing: Drawing) -> Flow:
    """Each node is a job named by its number, or a flow of two jobs, one after the other."""
    flow = Flow(then=NewJob(kind="root"))
    nodes: list[Node] = []
    for number, nested in enumerate(drawing.nested):
        work: NewJob | Flow = NewJob(kind=str(number))
        if nested:
            work = Flow(then=NewJob(kind=str(number)))
            first = work.add(NewJob(kind=f"{number} first"))
            work.add(NewJob(kind=f"{number} second"), after=[first])
        nodes.append(flow.add(work))
    for waiting, waited_for in drawing.edges():
        nodes[waiting].waits_for(nodes[waited_for])
    return flow


@settings(max_examples=80)
@given(drawings())
def test_ids_ascend_from_what_is_waited_for_to_what_waits_and_from_child_to_parent(drawing: Drawing) -> None:
    jobs = build(drawing).jobs()
    ids = {job.id for job in jobs}
    assert len(ids) == len(jobs) == 1 + len(drawing.rank) + 2 * sum(drawing.nested)
    for job in jobs:
        assert ids.issuperset(job.after)
        assert all(waited_for < job.id for waited_for in job.after)
        assert job.kind == "root" if job.parent is None else job.parent > job.id


@settings(max_examples=80)
@given(drawings())
def test_jobs_come_after_their_parent_and_after_what_they_wait_for(drawing: Drawing) -> None:
    jobs = build(drawing).jobs()
    place = {job.id: index for index, job in enumerate(jobs)}
    assert jobs[0].kind == "root"
    for job in jobs[1:]:
        assert job.parent is not None
        assert place[job.parent] < place[job.id]
        assert all(place[waited_for] < place[job.id] for waited_for in job.after)


@settings(max_examples=80)
@given(drawings())
def test_every_job_waits_for_what_it_was_told_to_and_nothing_else(drawing: Drawing) -> None:
    jobs = {job.kind: job for job in build(drawing).jobs()}
    kinds = {job.id: kind for kind, job in jobs.items()}
    told: dict[str, set[str]] = {kind: set() for kind in jobs}
    for waiting, waited_for in drawing.edges():
        # a flow waits by its first jobs, and is waited for as a whole
        told[f"{waiting} first" if drawing.nested[waiting] else str(waiting)].add(str(waited_for))
    for number, nested in enumerate(drawing.nested):
        if nested:
            told[f"{number} second"] = {f"{number} first"}
    assert {kind: {kinds[id] for id in job.after} for kind, job in jobs.items()} == told


def test_jobs_that_do_not_wait_keep_the_order_they_were_added_in() -> None:
    assert [job.kind for job in batch(NewJob(kind=str(n)) for n in range(5)).jobs()] == ["batch", *"01234"]


def test_a_flow_can_be_enqueued_again_as_other_jobs() -> None:
    flow = batch([NewJob(kind="a")])
    assert not {job.id for job in flow.jobs()} & {job.id for job in flow.jobs()}


def test_named_phases_keep_the_range_they_were_given() -> None:
    flow = Flow(phases={"text": (10, 50), "pdf": (50, 90)})
    for weight in (1, 2):
        flow.add(NewJob(kind="write"), phase="text", weight=weight)
    flow.add(NewJob(kind="print"), phase="pdf")
    root, *children = flow.jobs()
    assert root.rollup is not None
    assert root.rollup["start"] == 10
    assert root.rollup["phases"] == [
        {"name": "text", "from": 10, "span": 40, "weight": 3, "done": 0},
        {"name": "pdf", "from": 50, "span": 40, "weight": 1, "done": 0},
    ]
    assert [(job.phase, job.weight) for job in children] == [("text", 1), ("text", 2), ("pdf", 1)]


def test_phases_named_on_jobs_only_share_the_whole_by_weight() -> None:
    flow = Flow()
    flow.add(NewJob(kind="write"), phase="text", weight=3)
    flow.add(NewJob(kind="print"), phase="pdf")
    rollup = flow.jobs()[0].rollup
    assert rollup is not None
    assert rollup["start"] == 0
    assert {phase["name"]: phase["span"] for phase in rollup["phases"]} == {"text": 75, "pdf": 25}


def test_parts_are_counted_by_their_jobs() -> None:
    flow = Flow()
    for part in ("one", "two", None):
        flow.add(NewJob(kind="write"), part=part)
        flow.add(NewJob(kind="print"), part=part)
    root, *children = flow.jobs()
    assert root.rollup is not None
    assert root.rollup["parts"] == {"one": 2, "two": 2}
    assert [job.options for job in children] == [{"part": "one"}] * 2 + [{"part": "two"}] * 2 + [None] * 2


@pytest.mark.parametrize(("then", "hollow"), [(None, True), (NewJob(kind="publish"), False)])
def test_a_flow_without_a_last_step_ends_by_itself(then: NewJob | None, hollow: bool) -> None:
    flow = Flow(then, policy="continue")
    flow.add(NewJob(kind="write"), name="the only one")
    root, child = flow.jobs()
    assert root.rollup is not None
    assert (root.rollup["hollow"], root.rollup["policy"], root.rollup["total"]) == (hollow, "continue", 1)
    assert child.options == {"name": "the only one"}
