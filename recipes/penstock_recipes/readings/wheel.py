"""What the template draws as a wheel: angles from the left, bodies moved apart where they would cover each other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from penstock_recipes.readings import human_design, sky
from penstock_recipes.readings.chart import Aspect, Calculation, Chart, aspects_among

_GLYPHS = dict(zip(sky.BODIES, "☉☽☿♀♂♃♄♅♆♇", strict=True)) | {"North Node": "☊"}
_ZODIAC = "♈♉♊♋♌♍♎♏♐♑♒♓"
_APART = 10.0


def chart_wheel(chart: Chart) -> dict[str, Any]:
    return _wheel([chart], (), aspects_among(_longitudes(chart)))


def pair_wheel(calculation: Calculation, lit: Collection[str]) -> dict[str, Any]:
    """Both charts in one wheel, the second one inside, with the angles between the bodies that matter here."""
    angles = [each for each in calculation.aspects if not lit or {each.first, each.second} & set(lit)]
    return _wheel(calculation.charts, lit, angles[:9])


def _wheel(charts: Sequence[Chart], lit: Collection[str], aspects: Iterable[Aspect]) -> dict[str, Any]:
    rising = [_ascendant(chart) for chart in charts]
    zero = rising[0] or 0.0
    bodies = [_longitudes(chart) for chart in charts]
    rings = [
        {
            "ascendant": None if ascendant is None else (ascendant - zero) % 360,
            "bodies": [
                {"glyph": _GLYPHS[body], "lit": body in lit, "angle": (at - zero) % 360, "shown": shown}
                for (body, at), shown in zip(
                    longitudes.items(), spread([(at - zero) % 360 for at in longitudes.values()], _APART + 3 * ring),
                    strict=True,
                )
            ],
        }
        for ring, (ascendant, longitudes) in enumerate(zip(rising, bodies, strict=True))
    ]  # fmt: skip
    lines = [
        {
            "from": (bodies[0][each.first] - zero) % 360,
            "to": (bodies[-1][each.second] - zero) % 360,
            "hard": each.name in ("square", "opposition"),
        }
        for each in aspects
        if each.name != "conjunction"
    ]
    ticks, labels = _rim(charts[0], zero)
    return {"ticks": ticks, "labels": labels, "rings": rings, "angles": lines}


def _rim(chart: Chart, zero: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if chart.western or chart.vedic:
        ticks = [{"angle": (each - zero) % 360, "long": each % 30 == 0} for each in range(0, 360, 5)]
        signs = [{"angle": (30 * n + 15 - zero) % 360, "text": glyph, "size": 0.052} for n, glyph in enumerate(_ZODIAC)]
        return ticks, signs
    width = 360 / 64
    gates = [(human_design.START + width * n, gate) for n, gate in enumerate(human_design.WHEEL)]
    return (
        [{"angle": (at - zero) % 360, "long": True} for at, _ in gates],
        [{"angle": (at + width / 2 - zero) % 360, "text": str(gate), "size": 0.021} for at, gate in gates],
    )


def _ascendant(chart: Chart) -> float | None:
    system = chart.western or chart.vedic
    return system.ascendant.longitude if system and system.ascendant else None


def _longitudes(chart: Chart) -> Mapping[str, float]:
    if chart.western:
        return {each.body: each.longitude for each in chart.western.placements}
    if chart.vedic:
        return {each.body: each.longitude for each in chart.vedic.placements}
    assert chart.human_design is not None
    return {
        each.body: human_design.longitude_of(each.gate, each.line)
        for each in chart.human_design.personality
        if each.body in _GLYPHS
    }


def spread(angles: Sequence[float], apart: float) -> list[float]:
    """The angles, moved as little as it takes to be so far apart: neighbours push each other."""
    order = sorted(range(len(angles)), key=lambda n: angles[n])
    shown = [angles[n] for n in order]
    for _ in range(200):
        moved = False
        for here in range(len(shown)):
            there = (here + 1) % len(shown)
            gap = shown[there] - shown[here] + (360 if there <= here else 0)
            if gap < apart - 1e-6:
                shown[here] -= (apart - gap) / 2
                shown[there] += (apart - gap) / 2
                moved = True
        if not moved:
            break
    placed = [0.0] * len(angles)
    for place, n in enumerate(order):
        placed[n] = shown[place] % 360
    return placed
