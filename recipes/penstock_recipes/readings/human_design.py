"""Human design: 64 gates around the ecliptic, read at birth and 88° of the sun before it."""

from collections.abc import Iterable
from typing import Literal

Type = Literal["Generator", "Manifesting Generator", "Manifestor", "Projector", "Reflector"]

# around the wheel from 2° Aquarius, each 5°37'30" wide with six lines
WHEEL = (
    41, 19, 13, 49, 30, 55, 37, 63, 22, 36, 25, 17, 21, 51, 42, 3, 27, 24, 2, 23, 8, 20, 16, 35, 45, 12, 15, 52, 39, 53,
    62, 56, 31, 33, 7, 4, 29, 59, 40, 64, 47, 6, 46, 18, 48, 57, 32, 50, 28, 44, 1, 43, 14, 34, 9, 5, 26, 11, 10, 58,
    38, 54, 61, 60,
)  # fmt: skip
START = 302.0

CENTERS = ("Head", "Ajna", "Throat", "Self", "Heart", "Sacral", "Spleen", "Emotions", "Root")
_GATES_OF = {
    "Head": (61, 63, 64),
    "Ajna": (4, 11, 17, 24, 43, 47),
    "Throat": (8, 12, 16, 20, 23, 31, 33, 35, 45, 56, 62),
    "Self": (1, 2, 7, 10, 13, 15, 25, 46),
    "Heart": (21, 26, 40, 51),
    "Sacral": (3, 5, 9, 14, 27, 29, 34, 42, 59),
    "Spleen": (18, 28, 32, 44, 48, 50, 57),
    "Emotions": (6, 22, 30, 36, 37, 49, 55),
    "Root": (19, 38, 39, 41, 52, 53, 54, 58, 60),
}
CENTER_OF = {gate: center for center, gates in _GATES_OF.items() for gate in gates}
CHANNELS = (
    (1, 8), (2, 14), (3, 60), (4, 63), (5, 15), (6, 59), (7, 31), (9, 52), (10, 20), (10, 34), (10, 57), (11, 56),
    (12, 22), (13, 33), (16, 48), (17, 62), (18, 58), (19, 49), (20, 34), (20, 57), (21, 45), (23, 43), (24, 61),
    (25, 51), (26, 44), (27, 50), (28, 38), (29, 46), (30, 41), (32, 54), (34, 57), (35, 36), (37, 40), (39, 55),
    (42, 53), (47, 64),
)  # fmt: skip
_MOTORS = {"Heart", "Sacral", "Emotions", "Root"}


def gate_and_line(longitude: float) -> tuple[int, int]:
    lines = int((longitude - START) % 360 / (360 / 384))
    return WHEEL[lines // 6], lines % 6 + 1


def longitude_of(gate: int, line: int) -> float:
    """The middle of a line."""
    return (START + (WHEEL.index(gate) * 6 + line - 0.5) * 360 / 384) % 360


def channels_of(gates: Iterable[int]) -> list[tuple[int, int]]:
    """Those with a gate at both ends."""
    there = set(gates)
    return [channel for channel in CHANNELS if there.issuperset(channel)]


def centers_of(channels: Iterable[tuple[int, int]]) -> list[str]:
    """The centers that channels define."""
    there = {CENTER_OF[gate] for channel in channels for gate in channel}
    return [center for center in CENTERS if center in there]


def type_of(channels: Iterable[tuple[int, int]]) -> Type:
    """By which centers are defined, and whether a motor reaches the throat."""
    known = list(channels)
    centers = set(centers_of(known))
    if not centers:
        return "Reflector"
    speaks = bool(_reached_from("Throat", known) & _MOTORS)
    if "Sacral" in centers:
        return "Manifesting Generator" if speaks else "Generator"
    return "Manifestor" if speaks else "Projector"


def _reached_from(center: str, channels: list[tuple[int, int]]) -> set[str]:
    reached, edge = set[str](), {center}
    while edge:
        reached |= edge
        pairs = [(CENTER_OF[first], CENTER_OF[second]) for first, second in channels]
        edge = {
            other for pair in pairs for here, other in (pair, pair[::-1]) if here in reached and other not in reached
        }
    return reached
