"""Removing files: one by one, and all that are due. Every step can be repeated, so a removal that was cut short is
taken up by the next sweep."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.engine.script import Script, arun, run
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


def remove_file(engine: Engine, store: Store, id: UUID) -> bool:
    """Removes the file and then the row of an artifact that is marked for it; False when somebody else is at it.

    The row is held meanwhile: a job that writes the same path anew waits, and its file is not the one that goes.
    """
    with engine.transaction() as transaction:
        path = transaction.run(commands.HoldRemoved(id))
        if path is None:
            return False
        store.delete(path)
        transaction.run(commands.ForgetArtifact(id))
        transaction.commit()
    return True


async def aremove_file(engine: Engine, store: Store, id: UUID) -> bool:
    async with engine.atransaction() as transaction:
        path = await transaction.run(commands.HoldRemoved(id))
        if path is None:
            return False
        await store.adelete(path)
        await transaction.run(commands.ForgetArtifact(id))
        await transaction.commit()
    return True


def sweep(
    engine: Engine, store: Store, *, grace: float = GRACE, orphans: bool = False, progress: Progress | None = None
) -> Swept:
    """Removes what has expired, what interrupted writes and removals left, and with `orphans` also files without a row:
    then nothing but artifacts may be in that folder or below that prefix."""
    removed = 0
    total = engine.run(commands.ArtifactsDue(grace))
    after: UUID | None = None
    while ids := engine.run(commands.StaleArtifacts(grace, after, _PAGE)):
        for id in ids:
            removed += remove_file(engine, store, id)
            if progress:
                progress(removed, max(total, removed))
        after = ids[-1]
    adopted = 0
    if orphans:
        for id in _adopted(engine, store, grace):
            adopted += remove_file(engine, store, id)
            if progress:
                progress(removed + adopted, max(total, removed + adopted))
    return Swept(removed, adopted, store.tidy(max(grace, GRACE)))


async def asweep(
    engine: Engine, store: Store, *, grace: float = GRACE, orphans: bool = False, progress: Progress | None = None
) -> Swept:
    removed = 0
    total = await engine.arun(commands.ArtifactsDue(grace))
    after: UUID | None = None
    while ids := await engine.arun(commands.StaleArtifacts(grace, after, _PAGE)):
        for id in ids:
            removed += await aremove_file(engine, store, id)
            if progress:
                progress(removed, max(total, removed))
        after = ids[-1]
    adopted = 0
    if orphans:
        async for id in _aadopted(engine, store, grace):
            adopted += await aremove_file(engine, store, id)
            if progress:
                progress(removed + adopted, max(total, removed + adopted))
    return Swept(removed, adopted, await store.atidy(max(grace, GRACE)))


def _adopted(engine: Engine, store: Store, grace: float) -> Iterator[UUID]:
    """Files that no artifact names, each with a row of its own by now."""
    before = datetime.now(UTC) - timedelta(seconds=grace)
    page: list[str] = []
    for found in store.list():
        if found.modified < before:
            page.append(found.path)
        if len(page) == _LISTED:
            yield from run(engine.run, _adopt_unknown(page))
            page.clear()
    yield from run(engine.run, _adopt_unknown(page))


async def _aadopted(engine: Engine, store: Store, grace: float) -> AsyncIterator[UUID]:
    before = datetime.now(UTC) - timedelta(seconds=grace)
    page: list[str] = []
    async for found in store.alist():
        if found.modified < before:
            page.append(found.path)
        if len(page) == _LISTED:
            for id in await arun(engine.arun, _adopt_unknown(page)):
                yield id
            page.clear()
    for id in await arun(engine.arun, _adopt_unknown(page)):
        yield id


def _adopt_unknown(page: list[str]) -> Script[list[UUID]]:
    known = yield commands.KnownPaths(page)
    rows = []
    for path in page:
        if path not in known:
            rows.append((yield commands.AdoptOrphan(path)))
    return [id for id in rows if id is not None]
