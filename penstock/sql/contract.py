"""What programs and a schema may expect of each other, by numbers that only grow.

CONTRACT is raised when programs need something of the schema that one before did not have: a function, an argument, a
column of a result. Adding to what is there raises nothing. SERVES is the oldest contract whose programs this schema
still serves; it is raised, one release later at the earliest, when something goes that they call. Both are in the
comment on the schema, which `migrate` writes and every new connection reads with its first statement.
"""

import re

from penstock.errors import NotMigrated, ProgramTooOld

CONTRACT = 2
SERVES = 1

COMMENT = f"Penstock, contract {CONTRACT}, serves programs from contract {SERVES}"
_COMMENT = re.compile(r"Penstock, contract (\d+), serves programs from contract (\d+)")


def check(schema: str, comment: str | None) -> None:
    """Raises when this program and the schema do not fit, and says what to do. Without a comment it is not migrated,
    which the first command finds out, or somebody has written another."""
    told = _COMMENT.fullmatch(comment or "")
    if told is None:
        return
    contract, serves = map(int, told.groups())
    if contract < CONTRACT:
        raise NotMigrated(
            f"schema {schema!r} is of contract {contract}, and this program needs {CONTRACT}: run `penstock migrate`, "
            "and only then start programs of the new version"
        )
    if serves > CONTRACT:
        raise ProgramTooOld(
            f"schema {schema!r} serves programs from contract {serves}, and this one is of {CONTRACT}: "
            "upgrade Penstock (pip install -U penstock)"
        )
