"""A flow as a drawing: which job stands where, and how they are joined. Jobs that wait for others stand below them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from penstock.engine.commands import FlowJob
from penstock.server.dashboard.address import path_with

if TYPE_CHECKING:
    import networkx

WIDTH, HEIGHT = 168, 46
"""Of a job, in pixels."""
BESIDE, BELOW = 24, 44
"""Between them."""
MOST = 120
"""Jobs that are drawn one by one; in a larger flow those of one kind and phase are drawn as one."""
_SWEEPS = 4


class Node(NamedTuple):
    """A job, or several of a kind and phase."""

    x: float
    y: float
    title: str
    note: str
    state: str
    percent: float
    path: str
    jobs: int


class Edge(NamedTuple):
    path: str
    """As SVG writes it."""
    done: bool


class Drawing(NamedTuple):
    width: float
    height: float
    nodes: Sequence[Node]
    edges: Sequence[Edge]


Key = tuple[str, ...]


def draw(jobs: Sequence[FlowJob]) -> Drawing:
    """In a thread, please: the first drawing loads the library, which would cost each start a quarter of a second."""
    import networkx

    grouped = len(jobs) > MOST
    keys: dict[UUID, Key] = {job.id: _key(job, grouped=grouped) for job in jobs}
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
    graph = networkx.transitive_reduction(graph)
    layers = _in_order(graph, [list(layer) for layer in networkx.topological_generations(graph)])
    return _drawn(graph, layers, members)


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


def _in_order(graph: "networkx.DiGraph[Key]", layers: list[list[Key]]) -> list[list[Key]]:
    """Within a layer, jobs stand about where those stand that they are joined with: so few lines cross."""
    for layer in layers:
        layer.sort()
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        place = {key: index / max(1, len(layer) - 1) for layer in layers for index, key in enumerate(layer)}
        for index in order:
            joined = graph.predecessors if down else graph.successors
            wanted = {key: _mean([place[each] for each in joined(key)], place[key]) for key in layers[index]}
            layers[index].sort(key=lambda key: (wanted[key], key))
            place |= {key: at / max(1, len(layers[index]) - 1) for at, key in enumerate(layers[index])}
    return layers


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _drawn(
    graph: "networkx.DiGraph[Key]", layers: Sequence[Sequence[Key]], members: Mapping[Key, Sequence[FlowJob]]
) -> Drawing:
    widest = max((len(layer) for layer in layers), default=1)
    width = widest * (WIDTH + BESIDE) - BESIDE
    nodes: dict[Key, Node] = {}
    for depth, layer in enumerate(layers):
        left = (width - (len(layer) * (WIDTH + BESIDE) - BESIDE)) / 2
        for index, key in enumerate(layer):
            nodes[key] = _node(left + index * (WIDTH + BESIDE), depth * (HEIGHT + BELOW), members[key])
    edges = [_edge(nodes[start], nodes[end]) for start, end in graph.edges]
    return Drawing(width, len(layers) * (HEIGHT + BELOW) - BELOW, list(nodes.values()), edges)


def _node(x: float, y: float, jobs: Sequence[FlowJob]) -> Node:
    first = jobs[0]
    if len(jobs) == 1:
        note = first.phase or (first.kind if first.name else first.state)
        return Node(
            round(x, 1), round(y, 1), _short(first.name or first.kind), _short(note), first.state, first.percent,
            f"/jobs/{first.id}", 1,
        )  # fmt: skip
    states: dict[str, int] = {}
    for job in jobs:
        states[job.state] = states.get(job.state, 0) + 1
    shown = next(state for state in _LOUDEST if state in states)
    note = ", ".join(f"{count} {state}" for state, count in sorted(states.items(), key=lambda each: -each[1])[:2])
    percent = sum(job.percent for job in jobs) / len(jobs)
    path = path_with("/jobs", parent=first.parent, kind=first.kind) if first.parent else f"/jobs/{first.id}"
    title = f"{_short(first.kind, 16)} × {len(jobs)}"
    return Node(round(x, 1), round(y, 1), title, note, shown, percent, path, len(jobs))


_LOUDEST = ("failed", "running", "ready", "scheduled", "blocked", "cancelled", "succeeded")


def _short(text: str, most: int = 22) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _edge(start: Node, end: Node) -> Edge:
    x, y = start.x + WIDTH / 2, start.y + HEIGHT
    to_x, to_y = end.x + WIDTH / 2, end.y
    middle = (y + to_y) / 2
    points: Any = (x, y, x, middle, to_x, middle, to_x, to_y)
    return Edge("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}".format(*points), start.state == "succeeded")
