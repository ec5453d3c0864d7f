"""Removing files: one by one, and all that are due. Every step can be repeated, so a removal that was cut short is
taken up by the next sweep."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from penstock.engine import commands
from penstock.storage.adapter import Face
from penstock.storage.protocol import Store

GRACE = 600.0
"""Seconds that a write is left alone although its run holds the job no more: it may be about to find out."""
_PAGE = 100
_LISTED = 500

Progress = Callable[[int, int], None]
"""Told how many of how many are done; more may be found on the way."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep removed: artifacts, files that belonged to none, and leftovers of interrupted writes."""

    artifacts: int
    orphans: int
    leftovers: int


async def remove_file(face: Face, store: Store, id: UUID) -> bool:
    """Removes the file and then the row of an artifact that is marked for it; False when somebody else is at it.

    The row is held meanwhile: a job that writes the same path anew waits, and its file is not the one that goes.
    """
    async with face.transaction() as transaction:
        path = await transaction.run(commands.HoldRemoved(id))
        if path is None:
            return False
        await store.delete(path)
        await transaction.run(commands.ForgetArtifact(id))
    return True


async def sweep(
    face: Face, store: Store, *, grace: float = GRACE, orphans: bool = False, progress: Progress | None = None
) -> Swept:
    """Removes what has expired, what interrupted writes and removals left, and with `orphans` also files without a row:
    then nothing but artifacts may be in that folder or below that prefix."""
    removed = 0
    total = await face.run(commands.ArtifactsDue(grace))
    after: UUID | None = None
    while ids := await face.run(commands.StaleArtifacts(grace, after, _PAGE)):
        for id in ids:
            removed += await remove_file(face, store, id)
            if progress:
                progress(removed, max(total, removed))
        after = ids[-1]
    adopted = 0
    if orphans:
        async for id in _adopted(face, store, grace):
            adopted += await remove_file(face, store, id)
            if progress:
                progress(removed + adopted, max(total, removed + adopted))
    return Swept(removed, adopted, await store.tidy(max(grace, GRACE)))


async def _adopted(face: Face, store: Store, grace: float) -> AsyncIterator[UUID]:
    """Files that no artifact names, each with a row of its own by now."""
    before = datetime.now(UTC) - timedelta(seconds=grace)
    page: list[str] = []

    async def unknown() -> list[UUID]:
        known = await face.run(commands.KnownPaths(page))
        rows = [await face.run(commands.AdoptOrphan(path)) for path in page if path not in known]
        return [id for id in rows if id is not None]

    async for found in store.list():
        if found.modified < before:
            page.append(found.path)
        if len(page) == _LISTED:
            for id in await unknown():
                yield id
            page.clear()
    for id in await unknown():
        yield id
