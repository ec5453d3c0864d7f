"""Colours in plain words."""

from collections import Counter
from colorsys import rgb_to_hls

# where each hue ends, in degrees
_HUES = (
    (15, "red"),
    (45, "orange"),
    (70, "yellow"),
    (165, "green"),
    (195, "turquoise"),
    (255, "blue"),
    (290, "purple"),
    (345, "pink"),
    (360, "red"),
)


def main_colours(rgb: bytes, most: int = 3, share: float = 0.08) -> list[str]:
    """The colours that cover a good part of the pixels, the largest first. One shade of each: beside dark blue, blue
    is mostly its edges."""
    named = Counter(name_colour(*rgb[at : at + 3]) for at in range(0, len(rgb) - 2, 3))
    enough = share * named.total()
    shades: dict[str, str] = {}
    for name, times in named.most_common():
        if times >= enough:
            shades.setdefault(name.split()[-1], name)
    return list(shades.values())[:most]


def name_colour(red: int, green: int, blue: int) -> str:
    hue, lightness, _ = rgb_to_hls(red / 255, green / 255, blue / 255)
    # not the saturation: near black and white it leaps
    chroma = (max(red, green, blue) - min(red, green, blue)) / 255
    if lightness < 0.08:
        return "black"
    if chroma < 0.1:
        if lightness > 0.93:
            return "white"
        return "black" if lightness < 0.12 else _shaded("grey", lightness)
    name = next(name for end, name in _HUES if hue * 360 <= end)
    if name == "orange" and lightness < 0.4:
        return "brown"
    if name == "red" and lightness > 0.75:
        return "pink"
    return _shaded(name, lightness)


def _shaded(name: str, lightness: float) -> str:
    if lightness < 0.3:
        return f"dark {name}"
    return f"light {name}" if lightness > 0.75 else name
