"""Slow tests are marked so, and run when they are asked for (`make test-slow`). One whose long form differs from its
short form in more than a parameter looks here which of them is wanted."""

import re

asked_for = False


def ask(expression: str) -> None:
    """`expression` is pytest's `-m`."""
    global asked_for
    asked_for = "slow" in re.sub(r"not\s+slow", "", expression)
