"""Where the boxes of a graph in rows stand, and which way its lines go.

A line that skips rows has a place of its own in each of them, as a box has, so that none runs behind a box. Boxes and
such places are put in an order in which few lines cross, and then as near to what they are joined with as their
neighbours let them.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx

Key = tuple[str, ...]

_SWEEPS = 12


class Layout(NamedTuple):
    width: float
    boxes: dict[Key, tuple[float, int]]
    """The middle of each, and its row."""
    lines: dict[tuple[Key, Key], list[float]]
    """Where each passes the rows between its ends."""


class _Rows(NamedTuple):
    """Boxes by their numbers, and after them the places of lines."""

    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    boxes: int


def rows_of(graph: "networkx.DiGraph[Key]") -> list[list[Key]]:
    """What waits for something stands below it; what more waits for than it waits for itself, just above that."""
    import networkx

    row = {key: depth for depth, layer in enumerate(networkx.topological_generations(graph)) for key in layer}
    for key in reversed(list(networkx.topological_sort(graph))):
        if graph.out_degree(key) > graph.in_degree(key):
            row[key] = min(row[other] for other in graph.successors(key)) - 1
    rows: list[list[Key]] = [[] for _ in range(max(row.values(), default=-1) + 1)]
    for key in sorted(row):
        rows[row[key]].append(key)
    return rows


def lay_out(rows: Sequence[Sequence[Key]], edges: Sequence[tuple[Key, Key]], *, width: float, gap: float) -> Layout:
    """Boxes of this width, in these rows, with this gap between them; every edge leads downwards."""
    keys = [key for row in rows for key in row]
    row_of = {key: depth for depth, row in enumerate(rows) for key in row}
    number = {key: n for n, key in enumerate(keys)}
    all = _Rows([[number[key] for key in row] for row in rows], [[] for _ in keys], [[] for _ in keys], len(keys))
    passing: dict[tuple[Key, Key], list[int]] = {}
    for start, end in edges:
        passing[start, end] = []
        last = number[start]
        for depth in range(row_of[start] + 1, row_of[end]):
            place = len(all.above)
            passing[start, end].append(place)
            all.rows[depth].append(place)
            all.above.append([last])
            all.below.append([])
            all.below[last].append(place)
            last = place
        all.below[last].append(number[end])
        all.above[number[end]].append(last)
    x = _places(_ordered(all), width, gap)
    left = min((x[n] for n in number.values()), default=0.0) - width / 2
    left = min([left, *(x[n] for places in passing.values() for n in places)])
    right = max([*(x[n] + width / 2 for n in number.values()), *x], default=0.0)
    return Layout(
        right - left,
        {key: (x[n] - left, row_of[key]) for key, n in number.items()},
        {edge: [x[n] - left for n in places] for edge, places in passing.items()},
    )


def _ordered(all: _Rows) -> _Rows:
    """Each stands about where those stand that it is joined with, down and up again: of these orders the one in which
    the fewest lines cross."""
    rows = all.rows
    place = [0] * len(all.above)
    for row in rows:
        _number(row, place)
    best, fewest = [list(row) for row in rows], _crossings(all, place)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        near = all.above if down else all.below
        for row in rows[1:] if down else rows[-2::-1]:
            wanted = {n: _mean([place[other] for other in near[n]], place[n]) for n in row}
            row.sort(key=wanted.__getitem__)
            _number(row, place)
        crossings = _crossings(all, place)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return all._replace(rows=best)


def _number(row: Sequence[int], place: list[int]) -> None:
    for index, n in enumerate(row):
        place[n] = index


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(all: _Rows, place: Sequence[int]) -> int:
    """Of two lines between the same rows, whose ends are in another order than their beginnings."""
    count = 0
    for row in all.rows:
        ends: list[int] = []
        for n in row:
            count += sum(len(ends) - bisect_right(ends, place[end]) for end in all.below[n])
            for end in all.below[n]:
                insort(ends, place[end])
    return count


def _places(all: _Rows, width: float, gap: float) -> list[float]:
    """The middle of each, as Brandes and Köpf find it: what is joined stands upright in lines, by what is above or by
    what is below, pushed together from the left or from the right; each goes to the middle of these four."""
    sizes = [width if n < all.boxes else 0.0 for n in range(len(all.above))]
    four: list[list[float]] = []
    for upwards in (False, True):
        near = all.below if upwards else all.above
        rows = all.rows[::-1] if upwards else all.rows
        for mirrored in (False, True):
            turned = [row[::-1] for row in rows] if mirrored else rows
            x = _pushed_left(turned, _upright(turned, near, all.boxes), sizes, gap)
            four.append([-at for at in x] if mirrored else x)
    narrowest = min(four, key=lambda x: max(x, default=0.0) - min(x, default=0.0))
    for index, x in enumerate(four):
        side = max if index % 2 else min
        shift = side(narrowest, default=0.0) - side(x, default=0.0)
        x[:] = [at + shift for at in x]
    return [(low + high) / 2 for _, low, high, _ in map(sorted, zip(*four, strict=True))]


def _upright(rows: Sequence[Sequence[int]], near: Sequence[Sequence[int]], boxes: int) -> list[int]:
    """In which line each stands, named by the first in it: with the middle one of those that it is joined with. What
    skips rows is upright before others are, since it bends at its ends."""
    place = [0] * len(near)
    for row in rows:
        _number(row, place)
    first = list(range(len(near)))
    for row in rows[1:]:
        ways = [(place[n], place[near[n][0]]) for n in row if n >= boxes and near[n][0] >= boxes]
        taken = -1
        for n in row:
            others = sorted(near[n], key=place.__getitem__)
            for other in dict.fromkeys(others[(len(others) - 1) // 2 : len(others) // 2 + 1]):
                there = place[other]
                on_its_way = n >= boxes and other >= boxes
                if there <= taken or (not on_its_way and any((at < place[n]) != (to < there) for at, to in ways)):
                    continue
                first[n], taken = first[other], there
                break
    return first


def _pushed_left(
    rows: Sequence[Sequence[int]], first: Sequence[int], sizes: Sequence[float], gap: float
) -> list[float]:
    """As far to the left as what is beside each line lets it go; and from there to the right, up to its neighbour."""
    beside: dict[int, list[tuple[int, float]]] = {}
    after: dict[int, list[tuple[int, float]]] = {}
    for row in rows:
        for left, right in pairwise(row):
            apart = (sizes[left] + sizes[right]) / 2 + gap
            beside.setdefault(first[right], []).append((first[left], apart))
            after.setdefault(first[left], []).append((first[right], apart))
    sorter = TopologicalSorter({line: [left for left, _ in beside.get(line, ())] for line in dict.fromkeys(first)})
    lines = list(sorter.static_order())
    x: dict[int, float] = {}
    for line in lines:
        x[line] = max((x[left] + apart for left, apart in beside.get(line, ())), default=0.0)
    for line in reversed(lines):
        x[line] = max(x[line], min((x[right] - apart for right, apart in after.get(line, ())), default=x[line]))
    return [x[line] for line in first]
