"""The chart of docs/benchmarks.md: jobs a second as bars, idle latency from p50 to p99 on a scale by tens."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from bench import field_report
from bench.field_results import Results

TITLE = (
    "No-op jobs a second by one worker process, and milliseconds from enqueue to start on an idle queue, of each system"
)
ROW, NAME, BARS, TIMES, GAP, TOP = 26, 130, 330, 250, 70, 56
FONT = "font-family='system-ui, sans-serif' font-size='13'"


@dataclass(frozen=True)
class Theme:
    text: str
    faint: str
    ours: str
    theirs: str


THEMES = {
    "light": Theme("#1f2328", "#d0d7de", "#0969da", "#8c959f"),
    "dark": Theme("#e6edf3", "#3d444d", "#58a6ff", "#768390"),
}


def drawn(results: Results, theme: str) -> str:
    colours, summary = THEMES[theme], results.summary()
    rows = [
        (each.name, summary[each.name])
        for each in field_report.measured(results)
        if "drain" in summary.get(each.name, {})
    ]
    width, height = NAME + BARS + GAP + TIMES + GAP, TOP + ROW * len(rows) + 30
    most = max((row["drain"]["median"] for _, row in rows), default=1.0)
    times = [row[each]["median"] for _, row in rows for each in ("idle_p50", "idle_p99") if each in row]
    low, high = (math.floor(math.log10(min(times, default=1))), math.ceil(math.log10(max(times, default=10))))

    def across(milliseconds: float) -> float:
        return NAME + BARS + GAP + TIMES * (math.log10(milliseconds) - low) / max(1, high - low)

    def lines() -> Iterator[str]:
        size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
        yield f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {FONT} fill='{colours.text}'>"
        yield f"<title>{escape(TITLE)}</title>"
        yield f"<text x='{NAME}' y='20' font-weight='600'>no-op jobs/s, one worker process</text>"
        yield f"<text x='{NAME + BARS + GAP}' y='20' font-weight='600'>idle latency, p50 to p99</text>"
        for tens in range(low, high + 1):
            x = across(10.0**tens)
            yield f"<path d='M{x:.1f} {TOP - 8}V{height - 26}' stroke='{colours.faint}'/>"
            yield f"<text x='{x:.1f}' y='{TOP - 14}' text-anchor='middle' font-size='11'>{10.0**tens:g} ms</text>"
        for n, (name, row) in enumerate(rows):
            y, colour = TOP + ROW * n, colours.ours if name == "penstock" else colours.theirs
            weight = " font-weight='600'" if name == "penstock" else ""
            long = max(1.0, BARS * row["drain"]["median"] / most)
            yield f"<text x='{NAME - 10}' y='{y + 14}' text-anchor='end'{weight}>{escape(name)}</text>"
            yield f"<rect x='{NAME}' y='{y + 2}' width='{long:.1f}' height='16' rx='2' fill='{colour}'/>"
            rate = f"{row['drain']['median']:,.0f}"
            yield f"<text x='{NAME + long + 6:.1f}' y='{y + 14}' font-size='11'>{rate}</text>"
            if "idle_p50" in row:
                p50, p99 = (across(row[each]["median"]) for each in ("idle_p50", "idle_p99"))
                line = f"stroke='{colour}' stroke-width='4' stroke-linecap='round'"
                yield f"<path d='M{p50:.1f} {y + 10}H{p99:.1f}' {line}/>"
                yield f"<circle cx='{p50:.1f}' cy='{y + 10}' r='6' fill='{colour}'/>"
        yield "</svg>"

    return "\n".join(lines()) + "\n"
