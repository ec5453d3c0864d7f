"""Where jobs stand in the drawing of their flow."""

from uuid import UUID, uuid4

from penstock.engine.commands import FlowJob
from penstock.job import JobState
from penstock.server.dashboard.graph import LINE, MOST, WIDE, Drawing, draw


def job(
    kind: str, parent: UUID | None = None, *after: UUID, calls: bool = False, state: str = "succeeded", phase: str = ""
) -> FlowJob:
    return FlowJob(uuid4(), parent, kind, phase or None, None, JobState(state), 0, calls, after)


def reading(chapters: int = 16) -> list[FlowJob]:
    """A flow like that of the recipe: charts, then each chapter's text, then its PDF and its audio, then the book."""
    flow = job("bind", state="blocked")
    charts = job("calculation", flow.id, phase="calculating")
    texts = [job("text", flow.id, charts.id, phase="text") for _ in range(chapters)]
    states = ["succeeded", "running", *["blocked"] * (chapters - 2)]
    made = [
        job(kind, flow.id, charts.id, text.id, phase=kind, state=state)
        for kind in ("pdf", "audio") for text, state in zip(texts, states, strict=True)
    ]  # fmt: skip
    return [flow, charts, *texts, *made]


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


def test_a_wide_row_is_drawn_by_kind_and_phase_and_fits_a_screen() -> None:
    jobs = reading()
    drawing = draw(jobs)
    assert drawing.width < 2500
    assert sum(node.jobs for node in drawing.nodes) == len(jobs) == 50
    notes = {node.title: (node.state, node.note, node.told) for node in drawing.nodes}
    assert notes["text × 16"][:2] == ("succeeded", "16 succeeded")
    assert notes["audio × 16"] == ("running", "1 running, 14 blocked", "audio × 16, 1 succeeded, 1 running, 14 blocked")
    [pdf] = [node for node in drawing.nodes if node.title == "pdf × 16"]
    assert [(part.state, part.width) for part in pdf.parts] == [
        ("succeeded", round(LINE / 16, 1)), ("running", round(LINE / 16, 1)), ("blocked", round(14 * LINE / 16, 1)),
    ]  # fmt: skip
    high = heights(drawing)
    assert high["calculation"] < high["text × 16"] < high["pdf × 16"] == high["audio × 16"] < high["bind"]
    assert len(drawing.edges) == 5


def test_a_row_that_fits_is_drawn_job_by_job() -> None:
    flow = job("bind", state="blocked")
    drawing = draw([flow, *(job("page", flow.id) for _ in range(WIDE))])
    assert {node.jobs for node in drawing.nodes} == {1}
    one = draw([flow, *(job("page", flow.id) for _ in range(99)), job("cover", flow.id)])
    assert {node.title for node in one.nodes} == {"page × 99", "cover", "bind"}
    assert one.width < 2500


def test_kinds_that_wait_for_each_other_are_drawn_all_the_same() -> None:
    flow = job("bind", state="blocked")
    chain = [job("a", flow.id)]
    for n in range(MOST):
        chain.append(job("ba"[n % 2], flow.id, chain[-1].id))
    assert {node.title[0] for node in draw([flow, *chain]).nodes} == {"a", "b"}
