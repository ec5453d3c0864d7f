"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.complete import kinds, queues
from penstock.job import JobState

Url = Annotated[
    str | None,
    typer.Option(
        "--database-url", "-d", envvar="DATABASE_URL", show_envvar=True,
        help="The database, or redis://… if the jobs are there. Without it: the embedded Postgres under --folder.",
    ),
]  # fmt: skip
Folder = Annotated[
    Path, typer.Option(envvar="PENSTOCK_FOLDER", show_envvar=True, help="Where the embedded Postgres keeps its data.")
]
Schema = Annotated[str, typer.Option(envvar="PENSTOCK_SCHEMA", show_envvar=True, help="The schema of the engine.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
With = Annotated[
    list[str] | None,
    typer.Option("--with", help="Also an SQL adapter, as pgmq: kept up to date from then on. May repeat."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

QueueFilter = Annotated[
    list[str] | None,
    typer.Option("--queue", "-q", help="Only of this queue; repeat for several.", autocompletion=queues),
]
KindFilter = Annotated[
    list[str] | None, typer.Option("--kind", "-k", help="Only of this kind; repeat for several.", autocompletion=kinds)
]
StateFilter = Annotated[list[JobState] | None, typer.Option("--state", "-s", help="Only in this state; may repeat.")]
OwnerFilter = Annotated[list[str] | None, typer.Option("--owner", help="Only of this owner; repeat for several.")]
OrgFilter = Annotated[list[str] | None, typer.Option("--org", help="Only of this organisation; repeat for several.")]

DEFAULT_FOLDER = Path(".penstock")
