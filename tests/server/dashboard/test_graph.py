"""Where jobs stand in the drawing of their flow."""

from uuid import UUID, uuid4

from penstock.engine.commands import FlowJob
from penstock.job import JobState
from penstock.server.dashboard.graph import MOST, Drawing, draw


def job(kind: str, parent: UUID | None = None, *after: UUID, calls: bool = False, state: str = "succeeded") -> FlowJob:
    return FlowJob(uuid4(), parent, kind, None, None, JobState(state), 0, calls, after)


def heights(drawing: Drawing) -> dict[str, float]:
    return {node.title: node.y for node in drawing.nodes}


def test_a_job_stands_below_what_it_waits_for_and_a_flow_below_its_jobs() -> None:
    flow = job("bind", state="blocked")
    text = job("text", flow.id)
    pages = job("pages", flow.id, text.id, state="running")
    audio = job("audio", flow.id, text.id)
    drawing = draw([flow, text, pages, audio])
    high = heights(drawing)
    assert high["text"] < high["pages"] == high["audio"] < high["bind"]
    assert len(drawing.edges) == 4
    assert len({(node.x, node.y) for node in drawing.nodes}) == 4


def test_a_caller_stands_above_whom_it_calls() -> None:
    caller = job("report", calls=True)
    high = heights(draw([caller, job("part", caller.id)]))
    assert high["report"] < high["part"]


def test_many_jobs_of_a_kind_are_drawn_as_one_with_the_state_that_matters() -> None:
    flow = job("bind", state="blocked")
    parts = [job("page", flow.id, state="failed" if n == 7 else "succeeded") for n in range(MOST)]
    drawing = draw([flow, *parts])
    [page] = [node for node in drawing.nodes if node.jobs > 1]
    assert (page.title, page.state, page.note) == (f"page × {MOST}", "failed", f"{MOST - 1} succeeded, 1 failed")
    assert page.path == f"/jobs?parent={flow.id}&kind=page"


def test_kinds_that_wait_for_each_other_are_drawn_all_the_same() -> None:
    flow = job("bind", state="blocked")
    chain = [job("a", flow.id)]
    for n in range(MOST):
        chain.append(job("ba"[n % 2], flow.id, chain[-1].id))
    assert {node.title[0] for node in draw([flow, *chain]).nodes} == {"a", "b"}
