"""Messages of the queue: what one must say, its number, and what came of it when it was last read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from penstock import Penstock, PenstockError

KIND = "add_bookmark_url"
QUEUE = "add-bookmark-url-queue"
MAX_ATTEMPTS = 20

_LARGEST = 2**63 - 1


class InvalidMessage(PenstockError):
    """A message does not say what it must. It stays in the queue: the next version of the program may know better."""


@dataclass(frozen=True, slots=True)
class Message:
    bookmark_id: int
    url: str
    user_id: str
    fav_icon: str | None
    is_image: bool


@dataclass(frozen=True, slots=True)
class Noted:
    """A message's number, and what came of it: nothing yet, if it was given back unfinished."""

    number: int
    bookmark_id: int | None
    screenshot: bool | None = None
    remaining: bool | None = None
    error: str | None = None


def read_message(payload: Mapping[str, object]) -> Message:
    """The message, or an error that names each field at fault."""
    bookmark, url, user, icon, is_image = (
        payload.get(name) for name in ("bookmarkId", "url", "userId", "favIcon", "isImage")
    )
    problems = [
        *([] if bookmark_in(payload) else ["bookmarkId must be a number"]),
        *([] if url and isinstance(url, str) else ["url must be text"]),
        *([] if user and isinstance(user, str) else ["userId must be text"]),
        *([] if icon is None or isinstance(icon, str) else ["favIcon must be text or null"]),
        *([] if isinstance(is_image, bool) else ["isImage must be true or false"]),
    ]
    if problems:
        raise InvalidMessage(f"Invalid message: {'; '.join(problems)}")
    return Message(cast(int, bookmark), cast(str, url), cast(str, user), cast(str, icon) or None, is_image is True)


def bookmark_in(payload: Mapping[str, object]) -> int | None:
    """The bookmark that a message names, however much else is wrong with it."""
    id = payload.get("bookmarkId")
    return id if isinstance(id, int) and not isinstance(id, bool) and 0 < id <= _LARGEST else None


async def begin(app: Penstock, job: UUID, bookmark: int | None) -> tuple[int, str | None]:
    """The number of a message that is read now; one that came past `bookmarks.send` gets it here. And why it has no
    screenshot, if an earlier reading came no further than that."""
    async with app.atransaction() as connection:
        row = await (
            await connection.execute(
                """
                insert into bookmarks.messages as m (job, bookmark_id)
                values (%s, %s)
                    on conflict (job) do update
                   set bookmark_id = coalesce(excluded.bookmark_id, m.bookmark_id), screenshot_success = null,
                       remaining_data_success = null, error = null, archived_at = null, updated_at = pg_catalog.now()
                returning id, screenshot_error
                """,
                [job, bookmark],
            )
        ).fetchone()
    assert row is not None
    return row[0], row[1]


async def remember_screenshot_failed(app: Penstock, job: UUID, error: str) -> None:
    """Until the message has been read to its end."""
    async with app.atransaction() as connection:
        await connection.execute(
            "update bookmarks.messages set screenshot_success = false, screenshot_error = %s where job = %s",
            [error, job],
        )


async def note(app: Penstock, job: UUID, *, screenshot: bool | None, remaining: bool | None, error: str | None) -> None:
    """Keeps what came of a message, also when its job is to be tried again."""
    async with app.atransaction() as connection:
        await connection.execute(
            """
            update bookmarks.messages
               set screenshot_success = %s, remaining_data_success = %s, error = %s, screenshot_error = null,
                   updated_at = pg_catalog.now()
             where job = %s
            """,
            [screenshot, remaining, error, job],
        )


async def archive(app: Penstock, number: int) -> bool:
    """Takes a message out of the queue, whatever has become of it. False if there is none of that number."""
    async with app.atransaction() as connection:
        row = await (await connection.execute("select bookmarks.archive(%s)", [number])).fetchone()
    assert row is not None
    return bool(row[0])


async def noted(app: Penstock, jobs: Sequence[UUID]) -> dict[UUID, Noted]:
    """What came of these. One that no handler has read, because it is of an unknown kind, gets its number now."""
    async with app.atransaction() as connection:
        await connection.execute(
            "insert into bookmarks.messages (job) select pg_catalog.unnest(%s::uuid[]) on conflict (job) do nothing",
            [list(jobs)],
        )
        rows = await connection.execute(
            """
            select job, id, bookmark_id, screenshot_success, remaining_data_success, error
              from bookmarks.messages
             where job = any(%s)
            """,
            [list(jobs)],
        )
        return {job: Noted(*rest) for job, *rest in await rows.fetchall()}
