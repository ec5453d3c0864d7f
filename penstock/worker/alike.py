"""Which errors are alike: their messages, without what is of one run only."""

import re

LONGEST = 200
_LOOKED_AT = 1000

_OF_ONE_RUN = re.compile(
    r"""
    (?P<id>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b)
  | (?P<text>(?<!\w)(?:'[^']*'|"[^"]*"|`[^`]*`)(?!\w))
  | (?P<number>\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{16,}\b|\d+(?:[.,:]\d+)*)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def alike(message: str) -> str:
    """The first line of a message, with <number>, <id> and <text> for numbers, ids and quoted values."""
    line = next((line for line in message[:_LOOKED_AT].splitlines() if line.strip()), "")
    told = _OF_ONE_RUN.sub(lambda found: f"<{found.lastgroup}>", " ".join(line.split()))
    return told[:LONGEST] or "no message"
