"""The PDFs themselves: opened, counted, looked at and read."""

import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, get_args

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exports.pages import inked, opened, operators, words_of
from exports.resumes import SHORT, resume_of
from penstock_recipes.exports.pdf import Rendered, render
from penstock_recipes.exports.resume import Resume
from penstock_recipes.exports.shapes import LEAST, Choices, Margins, Metadata, PageSize, Quality, Template

WHEN = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TEMPLATES: tuple[Template, ...] = get_args(Template)
POINTS = {"A4": (595.28, 841.89), "Letter": (612, 792), "Legal": (612, 1008)}
SCRIPTS = {
    "polish": "Zażółć gęślą jaźń, Łódź",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "cyrillic": "Съешь же ещё этих мягких булок",
    "arabic": "مرحبا بالعالم",
    "hebrew": "שלום עולם",
    "hindi": "नमस्ते दुनिया",
    "thai": "สวัสดีชาวโลก",
    "japanese": "東京でエンジニア",
    "chinese": "北京软件工程师",
    "korean": "서울 개발자",
    "vietnamese": "Kỹ sư phần mềm ở Hà Nội",
    "ligatures": "office affluent fjord",
}
HOSTILE = (
    '#set page(width: 1pt) #panic("x") $x^2$ *bold* _it_ <label> @ref [a] {b} \\ ` ~ -- --- // /* */ = h - i + j "q"'
)


def made(data: dict[str, Any], title: str = "Title", **choices: Any) -> Rendered:
    return render(title, Resume.model_validate(data), Choices(**choices), WHEN)


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_word_of_a_resume_is_on_its_pages(template: Template) -> None:
    data = resume_of(5)
    rendered = made(data, template=template)
    with opened(rendered.pdf) as pages:
        assert len(pages) == rendered.pages > 1
        read = words_of(pages.text()).casefold()
        for picture in pages.pictures():
            inked(picture)
    for text in texts_of(data):
        assert words_of(text).casefold() in read, text
    assert "jan2022–dec2022" in read
    assert "may2020" in read


def texts_of(value: Any) -> list[str]:
    """Everything that somebody wrote, dates aside: they are printed in words."""
    if isinstance(value, dict):
        return [text for name, each in value.items() if "ate" not in name[-4:] for text in texts_of(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each)]
    return [value]


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_script_can_be_read_from_the_page(template: Template) -> None:
    data = {"profile": {"name": "Łódź 東京"}, "experience": [
        {"company": text, "position": name, "highlights": [text]} for name, text in SCRIPTS.items()
    ]}  # fmt: skip
    for quality in get_args(Quality):
        with opened(made(data, "Łódź 東京", template=template, quality=quality).pdf) as pages:
            read = words_of(pages.text())
        for text in SCRIPTS.values():
            assert read.count(words_of(text)) >= 2, (quality, text)


def test_what_no_font_has_is_a_box_and_can_still_be_copied() -> None:
    """Emoji among them; pdfium itself reads few beyond the first plane, so the PDF is asked what it says."""
    rendered = made({"profile": {"name": "Ada", "summary": "😀 first, 🚀 then 𓀀 𓀁 and \ue000"}})
    told = ""
    with pikepdf.open(BytesIO(rendered.pdf)) as document:
        [page] = document.pages
        for instruction in pikepdf.parse_content_stream(page):
            for operand in instruction.operands:
                if isinstance(operand, pikepdf.Dictionary) and "/ActualText" in operand:
                    told += str(operand.ActualText)
        for font in page.Resources.Font.values():
            told += font.ToUnicode.read_bytes().decode().casefold()
    for character in "😀🚀𓀀𓀁":
        assert character in told or character.encode("utf-16-be").hex() in told
    with opened(rendered.pdf) as pages:
        assert "first" in pages.text()


@pytest.mark.parametrize("template", TEMPLATES)
def test_text_is_text_whatever_it_says(template: Template) -> None:
    data = {
        "profile": {"name": HOSTILE, "headline": HOSTILE, "summary": HOSTILE},
        "experience": [{"company": HOSTILE, "position": HOSTILE, "highlights": [HOSTILE]}],
        "skills": [{"name": HOSTILE, "items": [HOSTILE]}],
        "sections": [{"title": HOSTILE, "entries": [{"title": HOSTILE}]}],
    }
    with opened(made(data, HOSTILE, template=template).pdf) as pages:
        read = words_of(pages.text()).casefold()
        assert set(pages.sizes()) == {POINTS["Letter"]}
    assert read.count(words_of(HOSTILE).casefold()) >= 6


def texts(most: int, least: int = 0) -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=least, max_size=most)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.builds(
        lambda name, text, words: {
            "profile": {"name": name, "summary": text},
            "experience": [{"company": name, "highlights": [text], "startDate": text[:20]}],
            "skills": words,
        },
        texts(40, 1).filter(str.strip),
        texts(300),
        st.lists(texts(20, 1).filter(str.strip), max_size=5),
    ),
    st.sampled_from(TEMPLATES),
    st.sampled_from(get_args(Quality)),
)
def test_any_text_makes_a_pdf(data: dict[str, Any], template: Template, quality: Quality) -> None:
    assert made(data, template=template, quality=quality).pages >= 1


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("page_size", get_args(PageSize))
def test_pages_have_their_size_and_margins(template: Template, page_size: PageSize) -> None:
    least = Margins(LEAST, LEAST, LEAST, LEAST)
    for margins in (least, Margins(2, 2, 2, 2), Margins(top=0.5, bottom=2, left=1.5, right=0.75)):
        rendered = made(resume_of(3), template=template, page_size=page_size, margins=margins)
        with opened(rendered.pdf) as pages:
            assert all(size == pytest.approx(POINTS[page_size], abs=0.5) for size in pages.sizes())
            left, top, right, bottom = inked(pages.pictures()[0].crop(below_the_band(pages.pictures()[0])))
            width, height = POINTS[page_size]
        slack = 3
        assert left >= margins.left * 72 - slack
        assert right <= width - margins.right * 72 + slack
        assert top + BAND >= margins.top * 72 - 3 * slack, "what stands above capital letters is in the margin"
        assert left <= margins.left * 72 + 8, "it begins where it should"
        assert bottom + BAND <= height - margins.bottom * 72 + (0.6 * 72 if margins.bottom else 0) + slack


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("inches", [LEAST, 2])
def test_no_letter_is_cut_off_or_covers_another(template: Template, inches: float) -> None:
    """Tall ones at the edge of the page; and long words in a narrow column."""
    words = ["Supercalifragilisticexpialidocious", "Donaudampfschifffahrtsgesellschaft"]
    data = resume_of(4) | {"profile": {"name": "ŻÓŁĆ Ångström Ế", "headline": "y" * 12}, "skills": words}
    rendered = made(data, template=template, margins=Margins(inches, inches, inches, inches))
    with opened(rendered.pdf) as pages:
        boxes = pages.boxes()
    width, height = POINTS["Letter"]
    for page in boxes:
        assert all(left >= 0 and low >= 0 and right <= width and top <= height for left, low, right, top in page)
        if template == "modern":
            # nothing stands between the side and what is beside it
            gap = 3.4 * 9.2
            ends = inches * 72 + (width - 2 * inches * 72 - gap) * 0.3
            assert not [box for box in page if box[2] > ends + 2 and box[0] < ends + gap - 2]


BAND = 6
"""The coloured band of the modern template, at the very top."""


def below_the_band(picture: Any) -> tuple[int, int, int, int]:
    return (0, BAND, picture.width, picture.height)


@pytest.mark.parametrize("template", TEMPLATES)
def test_grayscale_has_no_colours(template: Template) -> None:
    grey, coloured = (made(SHORT, template=template, color_mode=mode).pdf for mode in ("grayscale", "color"))
    assert not operators(grey) & {"rg", "RG", "k", "K"}
    with opened(grey) as pages, opened(coloured) as others:
        assert all(is_grey(picture) for picture in pages.pictures())
        assert is_grey(others.pictures()[0]) == (template == "minimal"), "minimal is black, white and grey anyway"


def is_grey(picture: Any) -> bool:
    return all(red == green == blue for _, (red, green, blue) in picture.getcolors(1 << 24))


def test_quality_is_size_against_what_readers_and_archives_need() -> None:
    data = resume_of(4)
    drafted, normal, high = (made(data, quality=quality).pdf for quality in ("draft", "normal", "high"))
    assert len(drafted) < len(normal) < len(high)
    with (
        pikepdf.open(BytesIO(drafted)) as draft,
        pikepdf.open(BytesIO(normal)) as usual,
        pikepdf.open(BytesIO(high)) as best,
    ):
        assert "/StructTreeRoot" not in draft.Root
        assert "/StructTreeRoot" in usual.Root
        assert "/StructTreeRoot" in best.Root
        levels = [document.open_metadata().pdfa_status for document in (draft, usual, best)]
        assert levels == ["", "", "2U"]
        assert "/OutputIntents" in best.Root
        assert best.open_metadata()["xmp:CreatorTool"] == str(best.docinfo["/Creator"])


def test_what_pdfa_does_not_allow_is_printed_without_it() -> None:
    """A character for private use has no meaning that an archive could keep."""
    rendered = made({"profile": {"name": "Ada \ue123"}}, quality="high")
    with pikepdf.open(BytesIO(rendered.pdf)) as document:
        assert document.open_metadata().pdfa_status in ("", "2U")


def test_a_pdf_says_what_it_is() -> None:
    with pikepdf.open(BytesIO(made(SHORT, "Ada's résumé").pdf)) as document:
        about = {str(name): str(value) for name, value in document.docinfo.items()}
        assert about["/Title"] == "Ada's résumé"
        assert about["/Author"] == "Ada Wiśniewska"
        assert about["/Subject"] == "Resume"
        assert about["/Keywords"] == "Python, Rust, SQL, Patience"
        assert about["/Creator"] == "Penstock exports"
        assert about["/CreationDate"].startswith("D:20261115120000")
        with document.open_metadata(set_pikepdf_as_editor=False) as metadata:
            assert metadata["dc:title"] == "Ada's résumé"
            assert metadata["xmp:CreatorTool"] == "Penstock exports"
    chosen = Metadata(title="T", author="A", subject="S", keywords=["k"], creator="C")
    with pikepdf.open(BytesIO(made(SHORT, metadata=chosen).pdf)) as document:
        about = {str(name): str(value) for name, value in document.docinfo.items()}
        assert [about[f"/{name}"] for name in ("Title", "Author", "Subject", "Keywords", "Creator")] == [
            "T", "A", "S", "k", "C",
        ]  # fmt: skip


def test_the_same_export_is_the_same_bytes() -> None:
    assert made(SHORT).pdf == made(json.loads(json.dumps(SHORT))).pdf


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_no_line_can_hold_is_broken(template: Template) -> None:
    data = {"profile": {"name": "Ada", "summary": "x" * 900, "website": "https://example.com/" + "path/" * 60}}
    with opened(made(data, template=template, margins=Margins()).pdf) as pages:
        _, _, right, _ = inked(pages.pictures()[0].crop(below_the_band(pages.pictures()[0])))
        assert right <= 612 - 72 + 2
        assert words_of(pages.text()).count("x" * 900) == 1


def test_links_lead_somewhere_and_do_nothing() -> None:
    links = [
        "https://ada.example.com/a",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ada.example.com/b",
        "not a link",
    ]
    data = {
        "profile": {"name": "Ada", "email": "ada@example.com", "links": [{"label": "l", "url": url} for url in links]}
    }
    with pikepdf.open(BytesIO(made(data).pdf)) as document:
        targets = [str(note.A.URI) for page in document.pages for note in page.get("/Annots", [])]
    assert sorted(targets) == ["https://ada.example.com/a", "https://ada.example.com/b", "mailto:ada@example.com"]
