"""A birth chart in each system, and what two charts say to each other: plain values with a JSON form."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations, product

import msgspec

from penstock_recipes.readings import human_design, sky, vedic
from penstock_recipes.readings.shapes import SYSTEMS, Person, System

SIGNS = (
    "Aries", "Taurus", "Gemini", "Cancer", "Leo", "Virgo", "Libra", "Scorpio", "Sagittarius", "Capricorn", "Aquarius",
    "Pisces",
)  # fmt: skip
_ASPECTS = (("conjunction", 0, 8), ("sextile", 60, 4), ("square", 90, 6), ("trine", 120, 6), ("opposition", 180, 8))
_NODES = ("North Node", "South Node")
_ACTIVATED = ("Sun", "Earth", "North Node", "South Node", *(body for body in sky.BODIES if body != "Sun"))


class Placement(msgspec.Struct, frozen=True, rename="camel"):
    """A body in the tropical zodiac; `house` by whole signs from the ascendant, none without one."""

    body: str
    longitude: float
    sign: str
    degree: float
    house: int | None
    retrograde: bool = False


class Western(msgspec.Struct, frozen=True, rename="camel"):
    """What turns with the hour is None where that is unknown."""

    ascendant: Placement | None
    midheaven: Placement | None
    placements: list[Placement]

    @property
    def shown(self) -> list[Placement]:
        return [each for each in (self.ascendant, self.midheaven, *self.placements) if each]


class Lunar(msgspec.Struct, frozen=True, rename="camel"):
    """A body in the sidereal zodiac."""

    body: str
    longitude: float
    sign: str
    degree: float
    nakshatra: str
    pada: int


class Vedic(msgspec.Struct, frozen=True, rename="camel"):
    ayanamsa: float
    ascendant: Lunar | None
    placements: list[Lunar]

    @property
    def shown(self) -> list[Lunar]:
        return [each for each in (self.ascendant, *self.placements) if each]


class Activation(msgspec.Struct, frozen=True, rename="camel"):
    body: str
    gate: int
    line: int


class HumanDesign(msgspec.Struct, frozen=True, rename="camel"):
    """`personality` is of the birth, `design` of the moment 88° of the sun before it."""

    design_date: datetime
    type: human_design.Type
    profile: str
    centers: list[str]
    channels: list[tuple[int, int]]
    personality: list[Activation]
    design: list[Activation]


class Chart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One person's; of the systems that were asked for. `born` is noon where the hour is unknown."""

    name: str
    born: datetime
    latitude: float
    longitude: float
    western: Western | None = None
    vedic: Vedic | None = None
    human_design: HumanDesign | None = None
    time_known: bool = True


class Aspect(msgspec.Struct, frozen=True, rename="camel"):
    """An angle that counts; `between` the first person's body and the second's, or two of one person's."""

    first: str
    second: str
    name: str
    orb: float


class Calculation(msgspec.Struct, frozen=True, rename="camel"):
    """What the whole reading is written from."""

    systems: list[System]
    charts: list[Chart]
    aspects: list[Aspect]


def calculate(person1: Person, person2: Person | None, systems: Sequence[System]) -> Calculation:
    people = [person1] if person2 is None else [person1, person2]
    asked = [system for system in SYSTEMS if system in systems]
    skies = [_longitudes(person.born) for person in people]
    aspects = aspects_between(*skies) if len(skies) == 2 else aspects_among(skies[0])
    charts = [_chart(person, positions, asked) for person, positions in zip(people, skies, strict=True)]
    return Calculation(asked, charts, aspects)


def aspects_between(first: Mapping[str, float], second: Mapping[str, float]) -> list[Aspect]:
    """Of one person's bodies and another's, the closest first."""
    return _aspects(product(first.items(), second.items()))


def aspects_among(positions: Mapping[str, float]) -> list[Aspect]:
    """Of one person's bodies with each other."""
    return _aspects(combinations(positions.items(), 2))


def _aspects(pairs: Iterable[tuple[tuple[str, float], tuple[str, float]]]) -> list[Aspect]:
    found = [
        Aspect(first, second, name, round(orb, 2))
        for (first, one), (second, other) in pairs
        for name, angle, widest in _ASPECTS
        if (orb := abs(sky.separation(one, other) - angle)) <= widest
    ]
    return sorted(found, key=lambda each: each.orb)


def _longitudes(moment: datetime) -> dict[str, float]:
    return {body: sky.longitude(body, moment) for body in (*sky.BODIES, "North Node")}


def _chart(person: Person, positions: dict[str, float], systems: Sequence[System]) -> Chart:
    born = person.born
    known = person.birth_time is not None
    rising = sky.ascendant(born, person.latitude, person.longitude) if known else None
    return Chart(
        person.name,
        born,
        person.latitude,
        person.longitude,
        _western(person, positions, rising) if "western" in systems else None,
        _vedic(born, positions, rising) if "vedic" in systems else None,
        _human_design(born) if "human_design" in systems else None,
        known,
    )


def _placed(body: str, longitude: float, rising: float | None, retrograde: bool = False) -> Placement:
    sign = int(longitude // 30)
    house = None if rising is None else (sign - int(rising // 30)) % 12 + 1
    return Placement(body, round(longitude, 4), SIGNS[sign], round(longitude % 30, 2), house, retrograde)


def _western(person: Person, positions: dict[str, float], rising: float | None) -> Western:
    placements = [
        _placed(body, at, rising, body in _NODES or sky.is_retrograde(body, person.born))
        for body, at in positions.items()
    ]
    if rising is None:
        return Western(None, None, placements)
    top = sky.midheaven(person.born, person.longitude)
    return Western(_placed("Ascendant", rising, rising), _placed("Midheaven", top, rising), placements)


def _vedic(born: datetime, positions: dict[str, float], rising: float | None) -> Vedic:
    shift = vedic.ayanamsa(born)

    def placed(body: str, tropical: float) -> Lunar:
        sidereal = (tropical - shift) % 360
        return Lunar(
            body, round(sidereal, 4), SIGNS[int(sidereal // 30)], round(sidereal % 30, 2), *vedic.nakshatra(sidereal)
        )

    ascendant = None if rising is None else placed("Ascendant", rising)
    return Vedic(round(shift, 4), ascendant, [placed(*each) for each in positions.items()])


def _human_design(born: datetime) -> HumanDesign:
    before = sky.when_sun_was(88, born)
    personality, design = (
        [Activation(body, *human_design.gate_and_line(sky.longitude(body, moment))) for body in _ACTIVATED]
        for moment in (born, before)
    )
    channels = human_design.channels_of(each.gate for each in personality + design)
    return HumanDesign(
        before - timedelta(microseconds=before.microsecond),
        human_design.type_of(channels),
        f"{personality[0].line}/{design[0].line}",
        human_design.centers_of(channels),
        channels,
        personality,
        design,
    )
