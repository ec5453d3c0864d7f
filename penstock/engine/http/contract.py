"""What workers over HTTP and a server may expect of each other, by numbers that only grow, as programs and a schema do
by `penstock/sql/contract.py`. Both sides say theirs in a header: a worker looks at each answer that says something
else than the one before, and a server refuses a worker that it no longer serves.

CONTRACT is raised when workers need something of a server that one before did not have; SERVES, a release later at the
earliest, when something goes that they ask for.
"""

import re

from penstock.errors import ProgramTooOld, ServerTooOld

CONTRACT = 1
SERVES = 1

HEADER = "Penstock-Contract"
SAID = {HEADER: f"{CONTRACT}; serves={SERVES}"}
_SAID = re.compile(r"(\d{1,9}); serves=(\d{1,9})")


def check_server(api: str, said: str | None) -> None:
    """Raises when this worker and that server do not fit, and says what to do. One that says nothing is from before
    there were contracts: it refuses commands that it does not know, and each would cost a job an attempt."""
    told = _SAID.fullmatch(said or "")
    if told is None:
        raise ServerTooOld(
            f"the server at {api} does not say what it serves: upgrade Penstock on the server, and only then on its "
            f"workers; or, if it is new enough, let what is between them pass the header {HEADER} on"
        )
    contract, serves = map(int, told.groups())
    if contract < CONTRACT:
        raise ServerTooOld(
            f"the server at {api} is of contract {contract}, and this worker needs {CONTRACT}: upgrade Penstock on the "
            "server, and only then on its workers"
        )
    if serves > CONTRACT:
        raise ProgramTooOld(_too_old(CONTRACT, serves))


def refuse_worker(said: str | None) -> None:
    """Raises when a worker is too old for this server."""
    told = _SAID.fullmatch(said or "")
    if told is not None and int(told[1]) < SERVES:
        raise ProgramTooOld(_too_old(int(told[1]), SERVES))


def _too_old(contract: int, serves: int) -> str:
    return (
        f"the server serves workers from contract {serves}, and this one is of {contract}: upgrade Penstock on the "
        "worker (pip install -U penstock)"
    )
