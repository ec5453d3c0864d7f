"""Positions against published ones. All moments are UTC; apparent positions are good to a few seconds of arc."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock_recipes.readings import human_design, sky, vedic
from penstock_recipes.readings.sky import separation

J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "longitude"),
    [  # to the minute, as almanacs print them; the sun moves 2.5" in one
        (datetime(1900, 3, 21, 1, 39), 0),
        (datetime(2000, 3, 20, 7, 35), 0),
        (datetime(2000, 6, 21, 1, 48), 90),
        (datetime(2000, 9, 22, 17, 28), 180),
        (datetime(2000, 12, 21, 13, 37), 270),
        (datetime(2024, 3, 20, 3, 6), 0),
        (datetime(2024, 12, 21, 9, 21), 270),
    ],
)
def test_the_sun_is_where_it_is_at_equinoxes_and_solstices(moment: datetime, longitude: float) -> None:
    assert separation(sky.longitude("Sun", moment.replace(tzinfo=UTC)), longitude) < 0.0012


@pytest.mark.parametrize(
    ("moment", "apart"),
    [  # new and full moons, to the minute; the moon gains 30" on the sun in one
        (datetime(2000, 1, 6, 18, 14), 0),
        (datetime(2024, 4, 8, 18, 21), 0),
        (datetime(2017, 8, 21, 18, 30), 0),
        (datetime(2000, 1, 21, 4, 41), 180),
        (datetime(2022, 11, 8, 11, 2), 180),
    ],
)
def test_the_moon_is_new_and_full_when_almanacs_say_so(moment: datetime, apart: float) -> None:
    moment = moment.replace(tzinfo=UTC)
    assert abs(separation(sky.longitude("Moon", moment), sky.longitude("Sun", moment)) - apart) < 0.012


def test_the_planets_at_j2000_are_where_jpl_has_them() -> None:
    # Horizons, observer ecliptic longitude (quantity 31), geocentric, 2000-01-01 12:00 UT
    published = {
        "Sun": 280.3689092, "Moon": 223.3237860, "Mercury": 271.8892699, "Venus": 241.5657794, "Mars": 327.9632921,
        "Jupiter": 25.2530685, "Saturn": 40.3956366, "Uranus": 314.8091680, "Neptune": 303.1930007,
        "Pluto": 251.4547644,
    }  # fmt: skip
    for body, longitude in published.items():
        assert separation(sky.longitude(body, J2000), longitude) < 4 / 3600, body


def test_the_textbook_examples_come_out() -> None:
    # Meeus, Astronomical Algorithms: 25.b, 47.a, 22.a and the node in it; dynamical time was 59 s ahead
    ahead = timedelta(seconds=59)
    assert separation(sky.longitude("Sun", datetime(1992, 10, 13, tzinfo=UTC) - ahead), 199.90606) < 1 / 3600
    moon = datetime(1992, 4, 12, tzinfo=UTC) - ahead
    assert separation(sky.longitude("Moon", moon), 133.167265) < 4 / 3600
    assert abs(sky.latitude("Moon", moon) + 3.229126) < 1 / 3600
    april = datetime(1987, 4, 10, tzinfo=UTC)
    assert abs(sky.obliquity(april) - (23 + 26 / 60 + 36.85 / 3600)) < 0.2 / 3600
    assert separation(sky.longitude("North Node", april), 11.2531) < 0.001


def test_only_saturn_was_retrograde_at_j2000() -> None:
    assert [body for body in sky.BODIES if sky.is_retrograde(body, J2000)] == ["Saturn"]
    assert sky.is_retrograde("Mercury", datetime(2024, 4, 10, tzinfo=UTC))
    assert not sky.is_retrograde("Mercury", datetime(2024, 5, 10, tzinfo=UTC))


def test_the_moon_keeps_within_five_degrees_of_the_ecliptic_and_the_sun_on_it() -> None:
    moments = [J2000 + timedelta(days=day) for day in range(28)]
    assert 4.9 < max(abs(sky.latitude("Moon", moment)) for moment in moments) < 5.35
    assert max(abs(sky.latitude("Sun", moment)) for moment in moments) < 0.001


def test_ascendant_and_midheaven_are_those_of_a_published_chart() -> None:
    # Albert Einstein, Ulm, 14 March 1879, 11:30 local mean time: 11°39' Cancer rising, 12°50' Pisces above
    born = datetime(1879, 3, 14, 10, 50, tzinfo=UTC)
    assert separation(sky.ascendant(born, 48.4, 10.0), 90 + 11 + 39 / 60) < 0.25
    assert separation(sky.midheaven(born, 10.0), 330 + 12 + 50 / 60) < 0.25
    assert separation(sky.longitude("Sun", born), 330 + 23 + 30 / 60) < 0.02
    assert separation(sky.longitude("Moon", born), 240 + 14 + 32 / 60) < 0.05


def test_the_sun_rises_with_the_ascendant() -> None:
    # at the equator on the equinox the sun rises around 6:00 of true time and culminates around 12:00
    day = datetime(2000, 3, 20, tzinfo=UTC)
    rise, noon = day + timedelta(hours=6, minutes=7, seconds=30), day + timedelta(hours=12, minutes=7, seconds=30)
    assert separation(sky.ascendant(rise, 0, 0), sky.longitude("Sun", rise)) < 0.3
    assert separation(sky.midheaven(noon, 0), sky.longitude("Sun", noon)) < 0.3


@pytest.mark.parametrize("north", [-90, -66.6, 66.6, 78.2, 90])
def test_somebody_rises_at_the_poles_too(north: float) -> None:
    assert 0 <= sky.ascendant(J2000, north, 15.6) < 360


def test_lahiris_ayanamsa_is_that_of_the_tables() -> None:
    # 22°27'37" in 1900 and 24°12' in early 2024
    assert abs(vedic.ayanamsa(datetime(1900, 1, 1, tzinfo=UTC)) - (22 + 27 / 60 + 37 / 3600)) < 0.01
    assert abs(vedic.ayanamsa(J2000) - (23 + 51 / 60 + 25 / 3600)) < 0.005
    assert abs(vedic.ayanamsa(datetime(2024, 2, 1, tzinfo=UTC)) - (24 + 11.6 / 60)) < 0.01


def test_nakshatras_go_around_the_stars() -> None:
    assert vedic.nakshatra(0) == ("Ashwini", 1)
    assert vedic.nakshatra(13.3) == ("Ashwini", 4)
    assert vedic.nakshatra(13.34) == ("Bharani", 1)
    assert vedic.nakshatra(359.9) == ("Revati", 4)
    assert vedic.nakshatra(180) == ("Chitra", 3)


def test_gates_are_where_the_wheel_has_them() -> None:
    assert sorted(human_design.WHEEL) == list(range(1, 65))
    assert human_design.gate_and_line(0) == (25, 2)
    assert human_design.gate_and_line(3.9) == (17, 1)
    assert human_design.gate_and_line(302) == (41, 1)
    assert human_design.gate_and_line(301.99) == (60, 6)
    # gates opposite each other, as the hexagrams are
    opposite = {human_design.gate_and_line(at)[0]: human_design.gate_and_line(at + 180)[0] for at in range(360)}
    assert opposite[1] == 2
    assert opposite[41] == 31
    for gate in range(1, 65):
        for line in range(1, 7):
            assert human_design.gate_and_line(human_design.longitude_of(gate, line)) == (gate, line)


def test_the_design_is_88_degrees_of_the_sun_before() -> None:
    before = sky.when_sun_was(88, J2000)
    assert separation(sky.longitude("Sun", before), sky.longitude("Sun", J2000) - 88) < 1e-5
    assert 85 < (J2000 - before).days < 92


@pytest.mark.parametrize(
    ("channels", "type"),
    [
        ([], "Reflector"),
        ([(2, 14)], "Generator"),
        ([(20, 34)], "Manifesting Generator"),
        ([(2, 14), (1, 8)], "Manifesting Generator"),
        ([(21, 45)], "Manifestor"),
        ([(18, 58), (16, 48)], "Manifestor"),
        ([(17, 62)], "Projector"),
        ([(18, 58), (17, 62)], "Projector"),
    ],
)
def test_the_type_is_told_by_what_reaches_the_throat(channels: list[tuple[int, int]], type: str) -> None:
    assert human_design.type_of(channels) == type


def test_every_gate_has_a_center_and_a_channel() -> None:
    assert sorted(human_design.CENTER_OF) == list(range(1, 65))
    assert {gate for channel in human_design.CHANNELS for gate in channel} == set(range(1, 65))
    assert len(set(human_design.CHANNELS)) == 36
