"""A flow as a drawing: which job stands where, and how they are joined. Jobs that wait for others stand below them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from penstock.engine.commands import FlowJob
from penstock.server.dashboard.address import path_with
from penstock.server.dashboard.layout import Key, Layout, lay_out, rows_of

if TYPE_CHECKING:
    import networkx

WIDTH, HEIGHT = 204, 46
"""Of a job, in pixels."""
BESIDE, BELOW = 24, 44
"""Between them."""
MOST = 120
"""Jobs that are drawn one by one; in a larger flow those of one kind and phase are drawn as one."""
TEXT = 28
"""Where its words begin, and the line of several drawn as one."""
LINE = WIDTH - TEXT - 14
WIDE = 8
"""Jobs beside each other, each drawn for itself; of a wider row those of one kind and phase are drawn as one, or a book
of sixteen chapters would be six screens wide."""


class StateShare(NamedTuple):
    """Of several jobs drawn as one: those in a state, as a part of the line below them."""

    state: str
    x: float
    width: float


class DrawnJob(NamedTuple):
    """A job, or several of a kind and phase."""

    x: float
    y: float
    title: str
    note: str
    state: str
    percent: float
    path: str
    jobs: int
    told: str
    """All of it in words."""
    parts: Sequence[StateShare] = ()


class Edge(NamedTuple):
    path: str
    """As SVG writes it."""
    done: bool


class Drawing(NamedTuple):
    width: float
    height: float
    nodes: Sequence[DrawnJob]
    edges: Sequence[Edge]


def draw(jobs: Sequence[FlowJob]) -> Drawing:
    """In a thread, please: the first drawing loads the library, which would cost each start a quarter of a second."""
    grouped = len(jobs) > MOST
    keys: dict[UUID, Key] = {job.id: _key(job, grouped=grouped) for job in jobs}
    graph, members = _joined(jobs, keys)
    rows = rows_of(graph)
    wide = {key: str(depth) for depth, row in enumerate(rows) if len(row) > WIDE for key in row}
    if wide and not grouped:
        # what stands in one row waits for nothing in it, so drawn as one it does not come to wait for itself
        own = [(job, keys[job.id]) for job in jobs]
        keys = {job.id: (job.kind, job.phase or "", wide[key]) if key in wide else key for job, key in own}
        graph, members = _joined(jobs, keys)
        rows = rows_of(graph)
    return _drawn(lay_out(rows, list(graph.edges), width=WIDTH, gap=BESIDE), len(rows), members)


def _joined(
    jobs: Sequence[FlowJob], keys: Mapping[UUID, Key]
) -> "tuple[networkx.DiGraph[Key], dict[Key, list[FlowJob]]]":
    """Who comes before whom, without what goes without saying; and which jobs are drawn as one."""
    import networkx

    members: dict[Key, list[FlowJob]] = {}
    for job in jobs:
        members.setdefault(keys[job.id], []).append(job)
    graph: networkx.DiGraph[Key] = networkx.DiGraph()
    graph.add_nodes_from(members)
    graph.add_edges_from(pair for pair in _pairs(jobs, keys) if pair[0] != pair[1])
    if not networkx.is_directed_acyclic_graph(graph):
        # kinds that wait for each other in turn, drawn as one each
        graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
        while not networkx.is_directed_acyclic_graph(graph):
            graph.remove_edge(*networkx.find_cycle(graph)[-1][:2])
    return networkx.transitive_reduction(graph), members


def _key(job: FlowJob, *, grouped: bool) -> Key:
    return (job.kind, job.phase or "", "" if job.parent else "top") if grouped else (str(job.id),)


def _pairs(jobs: Sequence[FlowJob], keys: Mapping[UUID, Key]) -> list[tuple[Key, Key]]:
    """Who comes before whom: what a job waits for, a flow's jobs before its last step, a caller before its jobs."""
    by_id = {job.id: job for job in jobs}
    pairs = [(keys[other], keys[job.id]) for job in jobs for other in job.waits_for if other in keys]
    for job in jobs:
        if job.parent in by_id:
            pair = keys[job.id], keys[job.parent]
            pairs.append((pair[1], pair[0]) if by_id[job.parent].calls else pair)
    return pairs


def _drawn(layout: Layout, rows: int, members: Mapping[Key, Sequence[FlowJob]]) -> Drawing:
    nodes = {
        key: _node(middle - WIDTH / 2, row * (HEIGHT + BELOW), members[key])
        for key, (middle, row) in layout.boxes.items()
    }
    edges = [_edge(nodes[start], nodes[end], passes) for (start, end), passes in layout.lines.items()]
    return Drawing(layout.width, rows * (HEIGHT + BELOW) - BELOW, list(nodes.values()), edges)


def _node(x: float, y: float, jobs: Sequence[FlowJob]) -> DrawnJob:
    first, x, y = jobs[0], round(x, 1), round(y, 1)
    if len(jobs) == 1:
        title, note = first.name or first.kind, first.phase or (first.kind if first.name else first.state)
        return DrawnJob(
            x, y, _short(title), _short(note), first.state, first.percent, f"/jobs/{first.id}", 1,
            f"{title}, {note}, {first.state.value}",
        )  # fmt: skip
    counts = Counter(job.state.value for job in jobs)
    shown = next(state for state in _LOUDEST if state in counts)
    percent = sum(job.percent for job in jobs) / len(jobs)
    path = path_with("/jobs", parent=first.parent, kind=first.kind) if first.parent else f"/jobs/{first.id}"
    title = f"{_short(first.kind, 16)} × {len(jobs)}"
    # there is room for two: the line below them tells the others by colours
    two = [shown, *(state for state, _ in counts.most_common() if state != shown)][:2]
    told = f"{title}, {_counted(counts, counts)}"
    return DrawnJob(x, y, title, _counted(counts, two), shown, percent, path, len(jobs), told, _parts(counts))


def _counted(counts: Mapping[str, int], states: Collection[str]) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in IN_ORDER if state in states)


def _parts(counts: Mapping[str, int]) -> list[StateShare]:
    parts, x, all = [], 0.0, sum(counts.values())
    for state in IN_ORDER:
        if state in counts:
            width = LINE * counts[state] / all
            parts.append(StateShare(state, round(x, 1), round(width, 1)))
            x += width
    return parts


IN_ORDER = ("succeeded", "failed", "cancelled", "running", "ready", "scheduled", "blocked")
_LOUDEST = ("failed", "running", "ready", "scheduled", "blocked", "cancelled", "succeeded")


def _short(text: str, most: int = 22) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _edge(start: DrawnJob, end: DrawnJob, passes: Sequence[float]) -> Edge:
    """It bends between the rows, and goes straight through them."""
    x, y = start.x + WIDTH / 2, start.y + HEIGHT
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x in (*passes, end.x + WIDTH / 2):
        middle, to_y = y + BELOW / 2, y + BELOW
        path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y + HEIGHT
        path.append(f"V{y:.1f}")
    return Edge("".join(path[:-1]), start.state == "succeeded")
