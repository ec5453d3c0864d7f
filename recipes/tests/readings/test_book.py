"""The PDFs: opened, looked into and rendered."""

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import msgspec
import pikepdf
import pypdfium2
import pytest

from penstock_recipes.fonts.boxes import warnings_about
from penstock_recipes.readings.book import print_book, print_chapter
from penstock_recipes.readings.chapters import CHAPTERS
from penstock_recipes.readings.chart import Calculation, calculate
from penstock_recipes.readings.providers.text import Section, Written
from penstock_recipes.readings.providers.text.offline import compose
from penstock_recipes.readings.shapes import SYSTEMS, Person, System
from penstock_recipes.readings.wheel import spread
from readings.people import ADA, WISLAWA

DAY = date(2026, 11, 15)
ONE, OTHER = (msgspec.convert(each, Person) for each in (ADA, WISLAWA))


def pair(systems: tuple[System, ...] = SYSTEMS) -> Calculation:
    return calculate(ONE, OTHER, systems)


def assert_pdf_a(pdf: bytes) -> None:
    """What PDF/A-2b asks for and can be seen from here: declaration, output intent, embedded fonts, no scripts."""
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        with opened.open_metadata() as metadata:
            assert metadata["pdfaid:part"] == "2"
            assert metadata["pdfaid:conformance"] == "B"
        [intent] = opened.Root.OutputIntents
        assert intent.S == "/GTS_PDFA1"
        assert len(intent.DestOutputProfile.read_bytes()) > 100
        assert "/Encrypt" not in opened.trailer
        assert "/ID" in opened.trailer
        assert "/OpenAction" not in opened.Root or opened.Root.OpenAction.get("/S") != "/JavaScript"
        fonts = [font for page in opened.pages for font in page.resources.get("/Font", {}).values()]
        assert fonts
        for font in fonts:
            assert embedded(font), font.get("/BaseFont")


def embedded(font: Any) -> bool:
    if font.Subtype == "/Type0":
        return all(embedded(each) for each in font.DescendantFonts)
    if font.Subtype == "/Type3":
        return True
    return any(name in font.FontDescriptor for name in ("/FontFile", "/FontFile2", "/FontFile3"))


def ink(page: pypdfium2.PdfPage) -> float:
    """How much of a page is not white."""
    grey = page.render(scale=1).to_pil().convert("L").histogram()
    return float(sum(grey[:200]) / sum(grey))


def test_a_chapter_is_pdf_a_with_its_text() -> None:
    chapter, calculation = CHAPTERS[1], pair()
    pdf = print_chapter(chapter, compose(chapter, calculation), calculation, DAY)
    assert_pdf_a(pdf)
    pages = pypdfium2.PdfDocument(pdf)
    text = "\n".join(page.get_textpage().get_text_bounded() for page in pages)
    assert 2 <= len(pages) <= 5
    assert "Hunger" in text
    assert "Wisława" in text
    assert "BETWEEN THEM" in text
    assert all(0.005 < ink(page) < 0.3 for page in pages)
    assert pages.get_metadata_dict()["Title"] == "Hunger · Ada & Wisława"


def test_the_book_has_every_chapter_in_its_contents() -> None:
    calculation = pair()
    pdf = print_book([(chapter, compose(chapter, calculation)) for chapter in CHAPTERS], calculation, DAY)
    assert_pdf_a(pdf)
    pages = pypdfium2.PdfDocument(pdf)
    assert 40 <= len(pages) <= 70
    contents = pages[1].get_textpage().get_text_bounded()
    assert all(chapter.title in contents for chapter in CHAPTERS)
    assert [mark.get_title() for mark in pages.get_toc()][1:] == [chapter.title for chapter in CHAPTERS]
    assert all(0.002 < ink(page) < 0.3 for page in pages)


def test_the_same_reading_prints_the_same_bytes() -> None:
    chapter, calculation = CHAPTERS[0], pair()
    written = compose(chapter, calculation)
    assert print_chapter(chapter, written, calculation, DAY) == print_chapter(chapter, written, calculation, DAY)


@pytest.mark.parametrize(
    "text",
    [
        '#panic() #read("/etc/passwd") $x^2$ *bold* _it_ `raw` <label> @ref \\ ] } " \' // /* = ~ -- ...',
        "Łódź, ŻÓŁĆ, Ærøskøbing, Ὀδυσσεύς, Пётр",
        "東京 المدينة 🎉👩‍👩‍👧 ครับ \u200d\u0301\u202e",
        "a" * 2000,
        "\U0010fffd\ue000",
    ],
    ids=["markup", "latin", "scripts", "long", "private"],
)
def test_any_text_is_safe_in_a_page(text: str) -> None:
    person = msgspec.structs.replace(ONE, name=text[:80])
    calculation = calculate(person, None, SYSTEMS)
    written = Written(text[:200], [Section("", [text]), Section(text[:100], [text, text])], text)
    for pdf in (
        print_chapter(CHAPTERS[0], written, calculation, DAY),
        print_book([(CHAPTERS[0], written)], calculation, DAY),
    ):
        assert_pdf_a(pdf)
        assert ink(pypdfium2.PdfDocument(pdf)[0]) > 0.002


NAMES = {
    "王小明": "NotoSansCJKsc",
    "田中さくら": "NotoSansCJKjp",
    "김철수": "NotoSansCJKkr",
    "अक्षय श्रीज्ञान": "FiraGO",
    "محمد علي": "FiraGO",
    "Владимир Ильич": "LibertinusSerif",
    "தமிழ் செல்வன்": "Boxes",
    "👩‍👩‍👧 \U0001fae8 \ue000": "Boxes",
}


def test_names_of_all_scripts_are_printed_beside_each_other() -> None:
    """By threads of one process; each name in a font that has its letters, and not in boxes where it need not be."""

    def print_for(name: str) -> bytes:
        calculation = calculate(msgspec.structs.replace(ONE, name=name), None, SYSTEMS)
        return print_chapter(CHAPTERS[0], compose(CHAPTERS[0], calculation), calculation, DAY)

    with ThreadPoolExecutor(len(NAMES)) as threads:
        printed = list(threads.map(print_for, NAMES))
    for (name, font), pdf in zip(NAMES.items(), printed, strict=True):
        assert_pdf_a(pdf)
        with pikepdf.open(io.BytesIO(pdf)) as opened:
            used = {str(each.BaseFont) for page in opened.pages for each in page.resources.Font.values()}
            warned = " ".join(warnings_about(opened))
        assert any(font in each for each in used), (name, used)
        assert bool(warned) == (font == "Boxes"), warned
        assert pdf == print_for(name), "and what others are called changes nothing"


@pytest.mark.parametrize("systems", [("western",), ("vedic",), ("human_design",)])
def test_a_wheel_is_drawn_for_any_system_and_for_one_person(systems: tuple[System, ...]) -> None:
    calculation = calculate(ONE, None, systems)
    pdf = print_book([(CHAPTERS[0], compose(CHAPTERS[0], calculation))], calculation, DAY)
    pages = pypdfium2.PdfDocument(pdf)
    assert ink(pages[0]) > 0.01
    assert_pdf_a(pdf)


@pytest.mark.parametrize("systems", [SYSTEMS, ("western",), ("vedic", "human_design")])
def test_a_chart_without_an_hour_says_so(systems: tuple[System, ...]) -> None:
    calculation = calculate(msgspec.structs.replace(ONE, birth_time=None), OTHER, systems)
    pdf = print_book([(CHAPTERS[0], compose(CHAPTERS[0], calculation))], calculation, DAY)
    assert_pdf_a(pdf)
    text = pypdfium2.PdfDocument(pdf)[2].get_textpage().get_text_bounded()
    assert "10 December 1815, 51.51° N" in text
    assert "The hour is unknown" in text
    assert "Ascendant" not in text
    assert "HOUSE" not in text


def test_bodies_that_stand_together_are_drawn_apart() -> None:
    shown = sorted(spread([10, 10.5, 11, 200, 359, 0.5], 10))
    gaps = [(later - earlier) % 360 for earlier, later in zip(shown, shown[1:] + shown[:1], strict=True)]
    assert min(gaps) >= 9.99
    assert spread([90.0], 10) == [90.0]
    assert spread([0, 120, 240], 10) == [0, 120, 240]
