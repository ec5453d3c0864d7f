"""Letters of every script: in a font that has them, in the order in which they are read, or with a warning."""

from itertools import pairwise
from typing import Any, get_args

import pytest

from exports.pages import first_said, fonts_of, opened, words_of
from exports.resumes import SHORT, resume_of
from exports.test_pdfs import TEMPLATES, made
from penstock_recipes.exports.shapes import Quality, Template

PHONES = ("+48 600 100 200", "03-555 1234", "٠١٠ ١٢٣٤ ٥٦٧٨")
PHONE = PHONES[0]
ARABIC: dict[str, Any] = {
    "language": "ar",
    "profile": {
        "name": "محمد علي",
        "phone": PHONE,
        "email": "m@example.com",
        "summary": f"اتصل بي على الرقم {PHONE} غدا.",
    },
    "experience": [{"company": "شركة النيل", "highlights": ["بناء الأنظمة"]}],
    "skills": ["بايثون"],
}


@pytest.mark.parametrize(
    ("language", "name", "font"),
    [
        ("zh", "王小明", "NotoSansCJKsc"),
        ("ja", "田中さくら", "NotoSansCJKjp"),
        ("ko", "김철수", "NotoSansCJKkr"),
        ("zh-TW", "王小明", "NotoSansCJKtc"),
        ("en", "王小明", "NotoSansCJKsc"),
        ("en", "田中さくら", "NotoSansCJKjp"),
        ("hi", "अक्षय श्रीज्ञान", "FiraGO"),
    ],
)
def test_a_name_is_set_in_a_font_that_has_it(language: str, name: str, font: str) -> None:
    rendered = made({"profile": {"name": name}, "language": language})
    assert any(each.startswith(font) for each in fonts_of(rendered.pdf)), (
        "pip install 'penstock-recipes[exports]' brings it"
    )
    assert rendered.warnings == []


@pytest.mark.parametrize("quality", get_args(Quality))
def test_what_no_font_has_is_warned_of_by_its_script(quality: Quality) -> None:
    text = "plain, 😀, தமிழ் and 𓀀 𓀁"
    rendered = made({"profile": {"name": "Ada", "summary": text}}, quality=quality)
    assert rendered.warnings[0].startswith("Tamil: no font has த"), rendered.warnings
    assert rendered.warnings[1:] == ["Egyptian: no font has 𓀀 𓀁, printed as empty boxes"]


def as_seen(template: Template, **told: str) -> str:
    profile = ARABIC["profile"] | told
    with opened(made(ARABIC | {"profile": profile}, template=template).pdf) as pages:
        return words_of("".join(pages.as_seen()))


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("phone", PHONES)
def test_a_number_keeps_its_order_where_lines_run_from_the_right(template: Template, phone: str) -> None:
    seen = as_seen(template, phone=phone, summary=f"اتصل بي على الرقم {phone} غدا.")
    assert seen.count(words_of(phone)) == 2, "among the contacts and in the summary"
    assert "m@example.com" in seen


def test_what_is_no_telephone_number_runs_from_the_right_with_its_line() -> None:
    seen = as_seen("minimal", summary="من 01.02.2020 - 15.03.2021 و 100 200 300")
    assert "15.03.2021-01.02.2020" in seen
    assert "300200100" in seen


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_name_is_read_first(template: Template) -> None:
    for data in (SHORT, resume_of(6)):
        rendered = made(data, template=template)
        name = data["profile"]["name"]
        with opened(rendered.pdf) as pages:
            assert words_of(pages.text()).casefold().startswith(words_of(name).casefold())
        assert first_said(rendered.pdf).casefold() == name.casefold()


def test_a_side_is_tinted_only_as_far_as_there_is_something_in_it() -> None:
    skilled = resume_of(6) | {"skills": [{"name": f"Group {n}", "items": ["Skill"] * 30} for n in range(14)]}
    for data, sides in ((resume_of(6), [True, False, False]), (skilled, [True, True, False])):
        with opened(made(data, template="modern").pdf) as pages:
            tinted = [picture.getpixel((20, 400)) != (255, 255, 255) for picture in pages.pictures()]
        assert tinted == sides


def test_a_side_is_where_lines_begin() -> None:
    with opened(made(ARABIC, template="modern").pdf) as pages:
        [picture] = pages.pictures()
    assert picture.getpixel((20, 400)) == (255, 255, 255)
    assert picture.getpixel((picture.width - 20, 400)) != (255, 255, 255)


@pytest.mark.parametrize(
    "text", ["字" * 60, "ทดสอบภาษาไทย" * 6, "क्ष" * 30, "e\u0301" * 40], ids=["han", "thai", "hindi", "accents"]
)
def test_a_long_word_is_broken_only_where_it_may_be(text: str) -> None:
    with opened(made({"profile": {"name": "Ada", "summary": text}}).pdf) as pages:
        read = pages.text()
    for before, after in pairwise(read):
        assert not (before == "\u200b" and after in "\u0301्षั")
    if text[0] in "字ท":
        assert "\u200b" not in read
