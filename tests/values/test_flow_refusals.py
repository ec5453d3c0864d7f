import math

import pytest

from penstock import Flow, InvalidFlow, NewJob, batch


def job(kind: str = "work") -> NewJob:
    return NewJob(kind=kind)


def test_jobs_that_wait_in_a_circle_are_refused_with_the_circle() -> None:
    flow = Flow()
    first = flow.add(job("load"))
    second = flow.add(job("parse"), after=[first])
    third = flow.add(job("index"), after=[second], name="the index")
    first.waits_for(third)
    with pytest.raises(InvalidFlow, match=r"^after: jobs wait for each other in a circle: ") as refusal:
        flow.jobs()
    circle = refusal.value.problem.removeprefix("jobs wait for each other in a circle: ").split(" → ")
    assert circle[0] == circle[-1]
    assert set(circle) == {"load", "parse", "the index"}


def test_a_job_that_waits_for_itself_is_refused() -> None:
    flow = Flow()
    node = flow.add(job("load"))
    node.waits_for(node)
    with pytest.raises(InvalidFlow, match=r"circle: load → load$"):
        flow.jobs()


@pytest.mark.parametrize("flow", [Flow(), Flow(then=NewJob(kind="publish")), batch([])])
def test_an_empty_flow_is_refused(flow: Flow) -> None:
    with pytest.raises(InvalidFlow, match=r"^flow: has no jobs: add at least one$"):
        flow.jobs()


def test_an_empty_flow_inside_another_is_refused() -> None:
    flow = Flow()
    flow.add(Flow())
    with pytest.raises(InvalidFlow, match=r"^flow: has no jobs"):
        flow.jobs()


def test_waiting_for_a_job_of_another_flow_is_refused() -> None:
    one, other = Flow(), Flow()
    stranger = other.add(job())
    one.add(job(), after=[stranger])
    with pytest.raises(InvalidFlow, match=r"^after: names a job of another flow"):
        one.jobs()


def test_a_flow_inside_itself_is_refused() -> None:
    outer, inner = Flow(then=job("outer")), Flow()
    outer.add(inner)
    inner.add(outer)
    with pytest.raises(InvalidFlow, match=r"^flow: 'outer' contains itself$"):
        outer.jobs()


def test_a_job_outside_the_named_phases_is_refused_with_the_names() -> None:
    flow = Flow(phases={"text": (0, 50), "pdf": (50, 100)})
    for phase in ("txt", ""):
        with pytest.raises(InvalidFlow, match=f"^phase: '{phase}' is none of this flow's phases: text, pdf$"):
            flow.add(job(), phase=phase)
    assert len(flow) == 0


@pytest.mark.parametrize("span", [(-1, 50), (0, 101), (60, 50), (math.nan, 50), (0, math.inf)])
def test_a_phase_outside_of_the_whole_is_refused(span: tuple[float, float]) -> None:
    with pytest.raises(InvalidFlow, match=r"^phases: 'text' must have a range within 0 and 100"):
        Flow(phases={"text": span})


@pytest.mark.parametrize("weight", [0, -1, math.nan])
def test_a_weight_that_is_not_positive_is_refused(weight: float) -> None:
    with pytest.raises(InvalidFlow, match=r"^weight: must be positive"):
        Flow().add(job(), weight=weight)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidFlow, match=r"^policy: 'ignore' is neither 'cancel' nor 'continue'$"):
        Flow(policy="ignore")  # type: ignore[arg-type]


def test_a_unique_key_belongs_to_the_flow_not_to_a_job_inside() -> None:
    with pytest.raises(InvalidFlow, match=r"^unique: belongs to the flow"):
        Flow().add(NewJob(kind="work", unique_key="k"))
    flow = Flow(then=NewJob(kind="publish", unique_key="k"))
    flow.add(job())
    assert flow.jobs()[0].unique_key == "k"
