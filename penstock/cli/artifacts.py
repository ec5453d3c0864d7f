"""`penstock artifacts`: files that jobs made."""

import dataclasses
from typing import Annotated
from uuid import UUID

import typer
from rich.filesize import decimal

from penstock.app import Penstock
from penstock.artifact import Artifact
from penstock.cli.db import on_database
from penstock.cli.operate import operator
from penstock.cli.output import err, out, print_json, print_record, print_table
from penstock.cli.progress import bar
from penstock.engine import commands
from penstock.errors import UnknownArtifact
from penstock.logs import counted
from penstock.storage.sweep import GRACE

artifacts = typer.Typer(
    help="Files that jobs made. The store is PENSTOCK_ARTIFACTS: a folder, or s3://bucket/prefix?endpoint=…",
    no_args_is_help=True,
)

Id = Annotated[UUID, typer.Argument(help="The artifact's id.")]


@artifacts.command("list")
@on_database
def list_(
    app: Penstock,
    json: bool,
    job: Annotated[UUID | None, typer.Option(help="Only of this job and of what is below it in its flow.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    org: Annotated[str | None, typer.Option(help="Only of this organisation.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 20,
    before: Annotated[UUID | None, typer.Option(help="The next page: the id it begins before.")] = None,
) -> None:
    """List artifacts, newest first; those of a job in the order its flow made them."""
    found = app.artifacts.list(job, owner=owner, org=org, before=before, limit=limit)
    if json:
        print_json({"artifacts": found, "next": found[-1].id if job is None and len(found) == limit else None})
        return
    print_table(
        ["id", "kind", "size", "downloads", "stored", "expires", "path"],
        [
            [
                each.id, each.kind, decimal(each.size or 0), each.downloads,
                f"{each.stored_at or each.created_at:%m-%d %H:%M}",
                f"{each.expires_at:%m-%d %H:%M}" if each.expires_at else "never", each.path,
            ]
            for each in found
        ],
        empty="no artifacts",
    )  # fmt: skip
    if job is None and len(found) == limit:
        err.print(f"more: --before {found[-1].id}", style="dim")


@artifacts.command()
@on_database
def show(app: Penstock, json: bool, id: Id) -> None:
    """Show everything on record about an artifact."""
    artifact = app.artifacts.get(id)
    if artifact is None:
        raise UnknownArtifact(f"there is no artifact {id}")
    if json:
        print_json(artifact)
        return
    print_record(artifact, Artifact.__slots__)


@artifacts.command()
@on_database
def url(
    app: Penstock,
    json: bool,
    id: Id,
    seconds: Annotated[int, typer.Option(min=1, max=604800, help="How long it works.")] = 3600,
) -> None:
    """Print a link that anybody may download the file with, for a while."""
    link = app.artifacts.url(id, seconds)
    if json:
        print_json({"url": link})
    else:
        typer.echo(link)


@artifacts.command()
@on_database
def sweep(
    app: Penstock,
    json: bool,
    orphans: Annotated[
        bool,
        typer.Option(
            "--orphans", help="Also remove files that no artifact names: nothing else may be in the store's folder."
        ),
    ] = False,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that what is under way is left alone.")] = GRACE,
) -> None:
    """Remove artifacts that have expired, and what interrupted writes left. Workers do so by themselves."""
    with bar("sweeping", json=json) as tell:
        swept = app.artifacts.sweep(orphans=orphans, grace=grace, progress=tell)
    many = dataclasses.asdict(swept)
    if any(many.values()):
        app.engine.run(commands.AddAudit(operator(app).who, "sweep_artifacts", None, many))
    if json:
        print_json(swept)
    else:
        removed = (counted(swept.artifacts, "artifact"), counted(swept.orphans, "orphan"))
        out.print(f"{', '.join(removed)} and {counted(swept.leftovers, 'leftover')} removed")
