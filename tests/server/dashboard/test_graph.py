"""Where jobs stand in the drawing of their flow."""

import re
from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID, uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.commands import FlowJob
from penstock.job import JobState
from penstock.server.dashboard.graph import BESIDE, HEIGHT, LINE, MOST, WIDE, WIDTH, Drawing, DrawnJob, draw


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


@st.composite
def flows(draw: st.DrawFn) -> list[FlowJob]:
    """Jobs that wait for any of those before them."""
    flow = job("bind")
    jobs: list[FlowJob] = []
    for n in range(draw(st.integers(1, 14))):
        after = draw(st.lists(st.sampled_from(jobs), max_size=3, unique=True)) if jobs else []
        jobs.append(job(f"job {n}", flow.id, *(each.id for each in after)))
    return [flow, *jobs]


def points_of(path: str) -> Iterator[tuple[float, float]]:
    """Along a line as SVG draws it."""
    x = y = 0.0
    for letter, rest in re.findall(r"([MCV])([^MCV]*)", path):
        to = [float(each) for each in rest.split()]
        match letter, to:
            case "M", [x, y]:
                yield x, y
            case "V", [to_y]:
                yield from ((x, y + (to_y - y) * part / 4) for part in range(5))
                y = to_y
            case "C", [a, b, c, d, to_x, to_y]:
                for t in (part / 8 for part in range(9)):
                    s = 1 - t
                    yield (
                        s**3 * x + 3 * s * s * t * a + 3 * s * t * t * c + t**3 * to_x,
                        s**3 * y + 3 * s * s * t * b + 3 * s * t * t * d + t**3 * to_y,
                    )
                x, y = to_x, to_y


def is_in(node: DrawnJob, x: float, y: float, margin: float = 0) -> bool:
    return node.x - margin < x < node.x + WIDTH + margin and node.y < y < node.y + HEIGHT


@given(flows())
@settings(max_examples=100)
def test_no_line_runs_behind_a_box_and_no_box_stands_upon_another(jobs: list[FlowJob]) -> None:
    drawing = draw(jobs)
    for edge in drawing.edges:
        points = list(points_of(edge.path))
        (x, y), (to_x, to_y) = points[0], points[-1]
        assert any(is_in(node, x, y - 1) for node in drawing.nodes)
        assert any(is_in(node, to_x, to_y + 1) for node in drawing.nodes)
        for x, y in points:
            assert not any(is_in(node, x, y, margin=BESIDE / 2) for node in drawing.nodes), (edge, x, y)
            assert 0 <= x <= drawing.width
    rows: dict[float, list[float]] = {}
    for node in drawing.nodes:
        assert 0 <= node.x <= drawing.width - WIDTH
        rows.setdefault(node.y, []).append(node.x)
    for row in rows.values():
        row.sort()
        assert all(right - left >= WIDTH + BESIDE - 0.2 for left, right in pairwise(row))


def test_what_nothing_comes_before_stands_just_above_what_waits_for_it() -> None:
    flow = job("bind")
    chain = [job("a", flow.id)]
    for kind in "bcd":
        chain.append(job(kind, flow.id, chain[-1].id))
    drawing = draw([flow, *chain, job("x", flow.id), job("y", flow.id)])
    high = heights(drawing)
    assert high["x"] == high["y"] == high["d"] < high["bind"]
    assert len({node.x for node in drawing.nodes if node.title in "abcd"}) == 1, "a chain is upright"


def test_a_line_that_skips_rows_goes_straight_through_them() -> None:
    """From `a` both to `b`, which three more follow, and to `x`, for which only the last of all waits."""
    flow = job("bind")
    a = job("a", flow.id)
    chain = [job("b", flow.id, a.id)]
    for kind in "cde":
        chain.append(job(kind, flow.id, chain[-1].id))
    drawing = draw([flow, a, *chain, job("x", flow.id, a.id)])
    [x] = [node.x + WIDTH / 2 for node in drawing.nodes if node.title == "x"]
    [line] = [edge.path for edge in drawing.edges if edge.path.count("V") > 0]
    assert line.count("V") == 3
    turns = [float(end) for end in re.findall(r"([\d.]+) [\d.]+V", line)]
    assert turns == [x] * 3
