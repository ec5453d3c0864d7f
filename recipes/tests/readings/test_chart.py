"""Charts and what is written from them without a service."""

import re
from itertools import combinations
from typing import Any

import msgspec
import pytest

from penstock_recipes.readings.chapters import CHAPTERS
from penstock_recipes.readings.chart import Calculation, calculate
from penstock_recipes.readings.providers.text import Written
from penstock_recipes.readings.providers.text.offline import compose
from penstock_recipes.readings.shapes import SYSTEMS, Person, System
from readings.people import ADA, WISLAWA

ONE, OTHER = (msgspec.convert(each, Person) for each in (ADA, WISLAWA))
CHOICES = [chosen for count in (1, 2, 3) for chosen in combinations(SYSTEMS, count)]


def text_of(written: Written) -> str:
    return "\n".join(text for section in written.sections for text in (section.heading, *section.paragraphs))


def born(**changes: Any) -> str:
    return msgspec.convert(ADA | changes, Person).born.isoformat()


def test_a_birth_is_what_the_clocks_of_its_place_said() -> None:
    assert OTHER.born.isoformat() == "1923-07-02T10:30:00+00:00"


def test_before_standard_time_a_birth_is_by_the_sun_of_its_own_place() -> None:
    """And not by that of the city that the zone is called after: Ulm is eleven minutes behind Berlin."""
    einstein = {"birthDate": "1879-03-14", "birthTime": "11:30", "timeZone": "Europe/Berlin", "longitude": 10.0}
    assert born(**einstein) == "1879-03-14T10:50:00+00:00"
    assert born() == "1815-12-10T13:00:31+00:00", "half a minute west of Greenwich"
    assert born(**einstein | {"birthDate": "1893-04-01"}) == "1893-04-01T10:30:00+00:00", "the first day of one time"
    # east of where the days begin, as they were counted then
    sitka = {"birthDate": "1860-05-01", "birthTime": "12:00", "timeZone": "America/Sitka", "longitude": -135.33}
    assert born(**sitka) == "1860-04-30T21:01:19+00:00"
    assert born(**sitka | {"birthDate": "1870-05-01"}) == "1870-05-01T21:01:19+00:00"
    # a time of a whole country, though an odd one: Paris from 1891
    paris = {"birthDate": "1900-01-01", "birthTime": "12:00", "timeZone": "Europe/Paris", "longitude": -4.5}
    assert born(**paris) == "1900-01-01T11:50:39+00:00"


@pytest.mark.parametrize("unknown", [{"birthTime": None}, {}], ids=["null", "absent"])
def test_who_does_not_know_the_hour_has_a_chart_without_what_turns_with_it(unknown: dict[str, Any]) -> None:
    params = {name: value for name, value in ADA.items() if name != "birthTime"} | unknown
    person = msgspec.convert(params, Person)
    [chart] = calculate(person, None, SYSTEMS).charts
    assert not chart.time_known
    assert chart.born == msgspec.convert(ADA | {"birthTime": "12:00"}, Person).born
    assert chart.western is not None
    assert chart.vedic is not None
    assert (chart.western.ascendant, chart.western.midheaven, chart.vedic.ascendant) == (None, None, None)
    assert {each.house for each in chart.western.placements} == {None}
    assert {each.body: each.sign for each in chart.western.placements}["Sun"] == "Sagittarius"
    for systems in CHOICES:
        for other in (None, OTHER):
            calculation = calculate(person, other, systems)
            assert msgspec.json.decode(msgspec.json.encode(calculation), type=Calculation) == calculation
            for chapter in CHAPTERS[:: 1 if other is None else 5]:
                written = compose(chapter, calculation)
                assert 550 <= written.words <= 1000, (chapter.title, systems)
                if other is None:
                    assert not re.search(r"\bhouse, where|Ascendant|None", text_of(written))


def test_a_chart_has_what_was_asked_for_and_survives_json() -> None:
    whole = calculate(ONE, OTHER, SYSTEMS)
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Calculation) == whole
    [ada, wislawa] = whole.charts
    assert ada.western is not None
    assert {each.body: each.sign for each in ada.western.placements}["Sun"] == "Sagittarius"
    assert ada.vedic is not None
    assert {each.body: each.nakshatra for each in ada.vedic.placements}["Sun"] == "Jyeshtha"
    assert wislawa.human_design is not None
    assert wislawa.human_design.personality[0].gate == 39  # the sun at 9°30' Cancer
    only = calculate(ONE, None, ["vedic"])
    assert (only.charts[0].western, only.charts[0].human_design) == (None, None)
    assert len(only.charts) == 1


def test_aspects_are_angles_that_are_there() -> None:
    whole = calculate(ONE, OTHER, SYSTEMS)
    positions = []
    for chart in whole.charts:
        assert chart.western is not None
        positions.append({each.body: each.longitude for each in chart.western.placements})
    angles = {"conjunction": 0, "sextile": 60, "square": 90, "trine": 120, "opposition": 180}
    assert whole.aspects
    for aspect in whole.aspects:
        apart = abs((positions[0][aspect.first] - positions[1][aspect.second] + 180) % 360 - 180)
        assert abs(abs(apart - angles[aspect.name]) - aspect.orb) < 0.02


@pytest.mark.parametrize("systems", CHOICES)
@pytest.mark.parametrize("other", [None, OTHER], ids=["one", "two"])
def test_every_chapter_is_a_chapter_long(systems: tuple[System, ...], other: Person | None) -> None:
    calculation = calculate(ONE, other, systems)
    for chapter in CHAPTERS:
        written = compose(chapter, calculation)
        assert 600 <= written.words <= 1000, chapter.title
        assert "None" not in text_of(written)
        assert len(written.sections) == 3 + len(systems)


def test_the_same_births_give_the_same_text_and_others_another() -> None:
    here = [text_of(compose(chapter, calculate(ONE, OTHER, SYSTEMS))) for chapter in CHAPTERS]
    again = [text_of(compose(chapter, calculate(ONE, OTHER, SYSTEMS))) for chapter in CHAPTERS]
    later = msgspec.structs.replace(ONE, birth_time="23:10")
    elsewhen = [text_of(compose(chapter, calculate(later, OTHER, SYSTEMS))) for chapter in CHAPTERS]
    assert here == again
    assert all(one != other for one, other in zip(here, elsewhen, strict=True))


def test_chapters_differ_from_each_other() -> None:
    calculation = calculate(ONE, OTHER, SYSTEMS)
    sentences = [set(text_of(compose(chapter, calculation)).replace("\n", " ").split(". ")) for chapter in CHAPTERS]
    for one, other in combinations(sentences, 2):
        assert len(one & other) < 0.25 * min(len(one), len(other))


def test_a_text_names_the_placements_it_is_about() -> None:
    hunger = text_of(compose(CHAPTERS[1], calculate(ONE, OTHER, SYSTEMS)))
    assert "Venus" in hunger
    assert "Scorpio" in hunger  # where hers stood
    assert "Ada" in hunger
    assert "Wisława" in hunger


def test_there_are_sixteen_chapters_in_the_order_of_the_seed() -> None:
    assert [chapter.title for chapter in CHAPTERS[:2]] == ["Portraits", "Hunger"]
    assert [chapter.number for chapter in CHAPTERS] == list(range(1, 17))
    assert len({chapter.title for chapter in CHAPTERS}) == 16


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "a\nb"}, "control"),
        ({"birthDate": "1815-02-30"}, "birthDate"),
        ({"birthDate": "1715-02-03"}, "birthDate"),
        ({"birthTime": "25:00"}, "birthTime"),
        ({"timeZone": "Mars/Olympus"}, "timeZone"),
        ({"timeZone": "../../etc/passwd"}, "timeZone"),
        ({"latitude": 91}, "latitude"),
        ({"longitude": -181}, "longitude"),
        ({"sign": "Aries"}, "sign"),
    ],
)
def test_a_wrong_birth_is_refused_by_name(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=named):
        msgspec.convert(ADA | wrong, Person)
