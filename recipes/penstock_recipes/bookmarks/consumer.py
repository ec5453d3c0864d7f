"""Reading the queue once: up to ten messages, each to its outcome, and a report in the shape that its callers know."""

from time import monotonic
from uuid import UUID

from penstock import JobState, Penstock, TickResult
from penstock_recipes.bookmarks.archive import UPKEEP
from penstock_recipes.bookmarks.messages import QUEUE, Noted, noted

MOST = 10
_READING = 14 / 15
"""Of the budget: 42 seconds of 45. The rest is for ending what is cut off, and for upkeep."""
_FOR_UPKEEP = 5.0
_NOT_FINISHED = "Not finished in time; it will be read again"


def reading_time(budget: float) -> float:
    """For how long messages are read, if the whole takes `budget` seconds at most."""
    return budget * _READING


async def consume(app: Penstock, *, at_once: int, budget: float) -> dict[str, object]:
    """Processes what is ready, `at_once` messages at a time, within `budget` seconds. What begins too late to end by
    then is given back at no cost of an attempt; a step that is done stays done."""
    deadline = monotonic() + budget
    read = await app.atick(MOST, reading_time(budget), {QUEUE: at_once})
    ran: dict[UUID, TickResult] = {each.id: each for each in read if not _found_no_turn(each)}
    # where there are no workers, somebody has to do what happens once a day
    if (left := deadline - monotonic()) > 0:
        await app.atick(1, min(_FOR_UPKEEP, left / 2), {UPKEEP: 1})
    told = await noted(app, list(ran)) if ran else {}
    results = [_result(ran[id], told[id]) for id in sorted(ran, key=lambda id: told[id].number)]
    archived = sum(result["archived"] is True for result in results)
    return {
        "success": True,
        "message": "Queue processing completed",
        "processedCount": len(results),
        "archivedCount": archived,
        "failedCount": len(results) - archived,
        "results": results,
    }


def _found_no_turn(ran: TickResult) -> bool:
    """Other calls had all browsers: it was not read."""
    return ran.error is None and not ran.state.final


def _result(ran: TickResult, told: Noted) -> dict[str, object]:
    """Without the fields that have nothing to say."""
    succeeded = ran.state is JobState.SUCCEEDED
    error = told.error
    if error is None and not succeeded:
        # nothing was noted: it was given back, and what its job last failed of is an earlier reading's
        error = _NOT_FINISHED if ran.state is JobState.READY else ran.error or _NOT_FINISHED
    found = {
        "messageId": told.number,
        "bookmarkId": told.bookmark_id,
        "success": succeeded,
        "archived": succeeded or ran.state is JobState.CANCELLED,
        "screenshotSuccess": told.screenshot,
        "remainingDataSuccess": told.remaining,
        "error": error,
    }
    return {name: value for name, value in found.items() if value is not None}
