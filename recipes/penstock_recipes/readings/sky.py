"""Where everything stood: apparent geocentric positions along the ecliptic of date, in degrees, from `ephem`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import asin, atan2, cos, degrees, radians, sin, tan

from penstock_recipes.requirements import brought_by

with brought_by("readings"):
    import ephem

BODIES: Mapping[str, Callable[[], ephem.Planet]] = {
    "Sun": ephem.Sun, "Moon": ephem.Moon, "Mercury": ephem.Mercury, "Venus": ephem.Venus, "Mars": ephem.Mars,
    "Jupiter": ephem.Jupiter, "Saturn": ephem.Saturn, "Uranus": ephem.Uranus, "Neptune": ephem.Neptune,
    "Pluto": ephem.Pluto,
}  # fmt: skip
J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)


def separation(first: float, second: float) -> float:
    """The shorter way between two longitudes, 0 to 180."""
    return abs((first - second + 180) % 360 - 180)


def centuries(moment: datetime) -> float:
    """Julian centuries since J2000."""
    return (moment - J2000).total_seconds() / (36525 * 86400)


def obliquity(moment: datetime) -> float:
    """The true obliquity of the ecliptic: the mean one (IAU 2006) and the main terms of nutation."""
    t = centuries(moment)
    mean = 84381.406 - 46.836769 * t - 0.0001831 * t**2 + 0.00200340 * t**3
    node = radians(125.04452 - 1934.136261 * t)
    sun, moon = radians(280.4665 + 36000.7698 * t), radians(218.3165 + 481267.8813 * t)
    nutation = 9.20 * cos(node) + 0.57 * cos(2 * sun) + 0.10 * cos(2 * moon) - 0.09 * cos(2 * node)
    return (mean + nutation) / 3600


def _date(moment: datetime) -> ephem.Date:
    return ephem.Date(moment.astimezone(UTC).replace(tzinfo=None))


def longitude(body: str, moment: datetime) -> float:
    """Of the sun, the moon, a planet, the earth (as seen in the wheel: opposite the sun) or a lunar node."""
    match body:
        case "Earth":
            return (longitude("Sun", moment) + 180) % 360
        case "North Node":
            return _mean_node(moment)
        case "South Node":
            return (_mean_node(moment) + 180) % 360
    seen = BODIES[body]()
    seen.compute(_date(moment), epoch=_date(moment))
    # g_ra and g_dec are apparent: with aberration and nutation, which ephem.Ecliptic would leave out
    right_ascension, declination, tilt = float(seen.g_ra), float(seen.g_dec), radians(obliquity(moment))
    along = atan2(sin(right_ascension) * cos(tilt) + tan(declination) * sin(tilt), cos(right_ascension))
    return degrees(along) % 360


def latitude(body: str, moment: datetime) -> float:
    """How far off the ecliptic a planet stands."""
    seen = BODIES[body]()
    seen.compute(_date(moment), epoch=_date(moment))
    right_ascension, declination, tilt = float(seen.g_ra), float(seen.g_dec), radians(obliquity(moment))
    return degrees(asin(sin(declination) * cos(tilt) - cos(declination) * sin(tilt) * sin(right_ascension)))


def _mean_node(moment: datetime) -> float:
    """The mean ascending node of the moon's orbit (Meeus, chapter 47)."""
    t = centuries(moment)
    return (125.0445479 - 1934.1362891 * t + 0.0020754 * t**2 + t**3 / 467441 - t**4 / 60616000) % 360


def is_retrograde(body: str, moment: datetime) -> bool:
    """Whether it goes back along the ecliptic; the mean nodes always do."""
    hours = timedelta(hours=3)
    return (longitude(body, moment + hours) - longitude(body, moment - hours) + 180) % 360 < 180


def sidereal_time(moment: datetime, east: float) -> float:
    """Of a place at a longitude, in degrees."""
    observer = ephem.Observer()
    observer.date = _date(moment)
    observer.lon = radians(east)
    return degrees(float(observer.sidereal_time())) % 360


def midheaven(moment: datetime, east: float) -> float:
    """Where the ecliptic crosses the meridian."""
    meridian, tilt = radians(sidereal_time(moment, east)), radians(obliquity(moment))
    return degrees(atan2(sin(meridian), cos(meridian) * cos(tilt))) % 360


def ascendant(moment: datetime, north: float, east: float) -> float:
    """Where the ecliptic crosses the eastern horizon. At a pole, where there is no east, as just beside it."""
    north = max(-89.99, min(89.99, north))
    meridian, tilt = radians(sidereal_time(moment, east)), radians(obliquity(moment))
    rising = atan2(cos(meridian), -(sin(meridian) * cos(tilt) + tan(radians(north)) * sin(tilt)))
    return degrees(rising) % 360


def when_sun_was(behind: float, before: datetime) -> datetime:
    """The moment when the sun stood so many degrees behind where it stands at `before`."""
    goal = (longitude("Sun", before) - behind) % 360
    moment = before - timedelta(days=behind / 0.9856)
    for _ in range(20):
        off = (goal - longitude("Sun", moment) + 180) % 360 - 180
        moment += timedelta(days=off / 0.9856)
        if abs(off) < 1e-6:
            break
    return moment
