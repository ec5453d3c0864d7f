"""PDF/A-2b by typst: a chapter, or the whole book. Anybody's text goes in as data, never as markup."""

from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import as_file, files
from typing import Any

import msgspec

from penstock_recipes.readings.chapters import Chapter
from penstock_recipes.readings.chart import Calculation, Chart
from penstock_recipes.readings.providers.text import Written
from penstock_recipes.readings.wheel import chart_wheel, pair_wheel


def print_chapter(chapter: Chapter, written: Written, calculation: Calculation, made: date) -> bytes:
    names = _names(calculation)
    return _compile(
        {
            "kind": "chapter",
            "title": f"{written.title} · {names}",
            "author": names,
            "names": names,
            "made": [made.year, made.month, made.day],
            "chapters": [_chapter(chapter, written, calculation)],
        }
    )


def print_book(chapters: Sequence[tuple[Chapter, Written]], calculation: Calculation, made: date) -> bytes:
    names = _names(calculation)
    return _compile(
        {
            "kind": "book",
            "title": f"A reading for {names}",
            "author": names,
            "names": names,
            "made": [made.year, made.month, made.day],
            "cover": pair_wheel(calculation, ()),
            "charts": [_chart(chart) for chart in calculation.charts],
            "chapters": [_chapter(chapter, written, calculation) for chapter, written in chapters],
        }
    )


def _names(calculation: Calculation) -> str:
    return " & ".join(chart.name for chart in calculation.charts)


def _chapter(chapter: Chapter, written: Written, calculation: Calculation) -> dict[str, Any]:
    return {
        "number": chapter.number,
        "title": written.title,
        "theme": f"on {chapter.theme}",
        "wheel": pair_wheel(calculation, chapter.bodies),
        "sections": msgspec.to_builtins(written.sections),
    }


def _chart(chart: Chart) -> dict[str, Any]:
    columns, rows, notes = ["Body"], dict[str, list[str]](), []
    if chart.western:
        columns += ["Tropical", "House"] if chart.time_known else ["Tropical"]
        for each in chart.western.shown:
            back = " ℞" if each.retrograde and each.body != "North Node" else ""
            house = [] if each.house is None else [str(each.house)]
            rows[each.body] = [_degree(each.degree, each.sign) + back, *house]
    if chart.vedic:
        columns += ["Sidereal", "Nakshatra"]
        for star in chart.vedic.shown:
            row = rows.setdefault(star.body, [""] * (len(columns) - 3))
            row += [_degree(star.degree, star.sign), f"{star.nakshatra} {star.pada}"]
        notes.append(f"Lahiri's ayanamsa {chart.vedic.ayanamsa:.2f}°.")
    if chart.human_design:
        columns += ["Gates"]
        design = {each.body: each for each in chart.human_design.design}
        for known in chart.human_design.personality:
            if len(columns) > 2 and known.body not in rows:
                continue
            hidden = design[known.body]
            row = rows.setdefault(known.body, [])
            row += [""] * (len(columns) - 2 - len(row)) + [f"{known.gate}.{known.line} · {hidden.gate}.{hidden.line}"]
        notes.append(
            f"{chart.human_design.type}, profile {chart.human_design.profile}; gates at birth · in the design."
        )
    if not chart.time_known:
        notes.append("The hour is unknown: as at noon, without houses; the moon may be seven degrees off.")
    filled = [[body, *row, *[""] * (len(columns) - 1 - len(row))] for body, row in rows.items()]
    return {
        "name": chart.name,
        "born": f"{_moment(chart)}, {_place(chart)}",
        "wheel": chart_wheel(chart),
        "columns": columns,
        "rows": filled,
        "notes": " ".join(notes),
    }


def _degree(degree: float, sign: str) -> str:
    return f"{int(degree)}°{int(degree % 1 * 60):02}′ {sign[:3]}"


def _moment(chart: Chart) -> str:
    return f"{chart.born.day} {chart.born:%B %Y}" + (f"{chart.born:, %H:%M} UTC" if chart.time_known else "")


def _place(chart: Chart) -> str:
    north, east = "N" if chart.latitude >= 0 else "S", "E" if chart.longitude >= 0 else "W"
    return f"{abs(chart.latitude):.2f}° {north}, {abs(chart.longitude):.2f}° {east}"


def _compile(data: Mapping[str, Any]) -> bytes:
    try:
        import typst

        from penstock_recipes import fonts
    except ImportError as error:
        raise RuntimeError("PDFs need typst: pip install 'penstock-recipes[readings]'") from error
    with as_file(files(__package__) / "templates") as folder:
        pdf: bytes = typst.compile(
            str(folder / "reading.typ"),
            root=str(folder),
            font_paths=fonts.installed(),
            format="pdf",
            pdf_standards="a-2b",
            sys_inputs={"data": msgspec.json.encode({**data, "fonts": fonts.fallbacks(text=data["names"])}).decode()},
        )
    return pdf
