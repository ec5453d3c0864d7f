"""The progress of a job that starts again, and why: as progress_again.sql and last_progress.sql have it."""

from collections.abc import Mapping
from typing import Any

_MOST = 500

LOST = "its worker was lost"
STOPPED = "its worker was stopped"


def progress_again(
    before: Mapping[str, Any], reason: str, attempt: int | None = None, attempts: int | None = None, *, flow: bool
) -> dict[str, Any]:
    """It falls to nothing; of a flow, to what its jobs reached. `attempt` is the one to come, None when none was
    spent."""
    kept = {name: said for name, said in before.items() if name not in ("percent", "phase", "done", "total")}
    reason = reason[:_MOST]
    again = {"attempt": attempt} if attempt is not None else {}
    message = f"Starts again: {reason}" if attempt is None else f"Attempt {attempt} of {attempts}: {reason}"
    return ({} if flow else {"percent": 0}) | kept | again | {"reason": reason, "message": message}


def last_progress(progress: Mapping[str, Any]) -> dict[str, Any]:
    """What a finished job keeps: not why it was tried again, if no later attempt had anything else to say."""
    gone = {"attempt", "reason"}
    if str(progress.get("message", "")).endswith(str(progress["reason"])):
        gone.add("message")
    return {name: said for name, said in progress.items() if name not in gone}
