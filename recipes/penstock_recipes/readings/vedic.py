"""The sidereal zodiac with Lahiri's ayanamsa, and the 27 nakshatras."""

from datetime import datetime

from penstock_recipes.readings.sky import centuries

NAKSHATRAS = (
    "Ashwini", "Bharani", "Krittika", "Rohini", "Mrigashira", "Ardra", "Punarvasu", "Pushya", "Ashlesha", "Magha",
    "Purva Phalguni", "Uttara Phalguni", "Hasta", "Chitra", "Swati", "Vishakha", "Anuradha", "Jyeshtha", "Mula",
    "Purva Ashadha", "Uttara Ashadha", "Shravana", "Dhanishta", "Shatabhisha", "Purva Bhadrapada",
    "Uttara Bhadrapada", "Revati",
)  # fmt: skip
_AT_J2000 = 23.857092


def ayanamsa(moment: datetime) -> float:
    """How far the sidereal zodiac lies behind the tropical one: Lahiri's value at J2000 and the precession since."""
    t = centuries(moment)
    return _AT_J2000 + (5028.796195 * t + 1.1054348 * t**2) / 3600


def nakshatra(sidereal: float) -> tuple[str, int]:
    """The lunar mansion at a sidereal longitude, and which quarter of it, from 1."""
    quarters = int(sidereal % 360 / (360 / 108))
    return NAKSHATRAS[quarters // 4], quarters % 4 + 1
