"""Artifacts for the tests of the API: files of jobs that have run, or have not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from penstock import Context, Penstock
from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.flow import batch
from tests.kit import saying


def make_handler(app: Penstock) -> None:
    @app.job(kind="export", max_attempts=1)
    async def export(ctx: Context, files: dict[str, str], fails: bool = False) -> None:
        for name, text in files.items():
            await ctx.artifacts.put(name, text.encode())
        if fails:
            raise LookupError("nothing to export")


async def stored(
    app: Penstock, name: str, data: bytes, *, owner: str = "alice", org: str | None = None, **choices: Any
) -> Artifact:
    """A file of a job that has finished."""
    if "export" not in app.kinds:
        make_handler(app)
    await app.handler("export").using(owner=owner, org=org).aenqueue(files={})
    lease = await app.engine.arun(commands.OpenLease("test"))
    [job] = await app.engine.arun(commands.Claim(lease, "default", 1))
    artifact = await app.artifacts.keeper.aput(job, lease, name, data, **choices)
    await app.engine.arun(saying.complete(lease, [job]))
    await app.engine.arun(commands.CloseLease(lease))
    return artifact


async def start_batch(app: Penstock, jobs: Sequence[Mapping[str, str] | None], owner: str = "alice") -> UUID:
    """A batch with a job for each of these: the files it makes, or None for one that fails. It goes on all the same."""
    if "export" not in app.kinds:
        make_handler(app)
    export = app.handler("export").using(owner=owner)
    prepared = [export.prepare(files=files or {}, fails=files is None) for files in jobs]
    flow = batch(prepared)
    flow.root = replace(flow.root, owner=owner)
    return (await app.aenqueue(flow)).id


async def run_all(app: Penstock) -> None:
    while await app.atick():
        pass
