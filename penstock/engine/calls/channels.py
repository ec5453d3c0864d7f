"""Where notifications are sent."""

from dataclasses import dataclass

from penstock.engine.call import Call


@dataclass(frozen=True, slots=True)
class Channels:
    """What to LISTEN to, by what is told there. The names are secret: whoever knows them hears, and is believed."""

    wake: str
    hand: str
    cancel: str
    job: str


def channels() -> Call[Channels]:
    return Call(
        "select wake, hand, cancel, job from penstock.channels",
        [],
        lambda rows: Channels(*rows[0]),
        repeatable=True,
    )
