"""The archive: messages that succeeded, and what is left of deleted bookmarks. Both go once a day."""

from penstock import JobState, Penstock
from penstock_recipes.bookmarks.messages import QUEUE
from penstock_recipes.bookmarks.store import remove_leftovers

UPKEEP = "bookmarks"
"""The queue of what is no message: a consumer of messages does not count it among them."""


async def purge(app: Penstock) -> int:
    """How many messages are gone. Those that were given up stay, until somebody retries, archives or purges them."""
    purged = await app.jobs.apurge_where(queue=QUEUE, state=[JobState.SUCCEEDED, JobState.CANCELLED])
    async with app.atransaction() as connection:
        by_hand = await connection.execute(
            """
            select m.job
              from bookmarks.messages as m
              join penstock.jobs_view as h on h.id = m.job
             where m.archived_at is not null and h.state = 'failed'
            """
        )
        ids = [job for (job,) in await by_hand.fetchall()]
    if ids:
        purged += await app.jobs.apurge_where(ids=ids)
    async with app.atransaction() as connection:
        await connection.execute("select bookmarks.forget()")
    await remove_leftovers(app)
    return purged
