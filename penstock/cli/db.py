"""`penstock migrate` and `penstock db`: the database itself."""

import os
import shlex
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated

import typer

from penstock import Penstock, embedded
from penstock.cli.load import load_app
from penstock.cli.options import DEFAULT_FOLDER, Folder, Json, Schema, Url, With
from penstock.cli.output import err, explained, out, print_json
from penstock.cli.progress import bar
from penstock.engine.postgres.address import shown_address
from penstock.errors import InvalidInput, PenstockError

db = typer.Typer(help="The embedded Postgres: a real one, private to this folder.", no_args_is_help=True)


def on_database(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that choose a database, and --json, to a command that takes `app` and `json`.

    Looking around does not make a new embedded database by accident.
    """

    @wraps(command)
    def run(*, url: str | None, folder: Path, schema: str, json: bool, **arguments: object) -> None:
        with explained(json):
            if url is None and not os.environ.get("PENSTOCK_JOBS_URL") and not folder.exists():
                raise PenstockError(
                    f"there is no DATABASE_URL and no embedded Postgres under {folder}; "
                    "set DATABASE_URL, or start one with `penstock db start`"
                )
            # an outage is told by the error that ends the command, and by no line of a log before it
            with Penstock(url, folder=folder, schema=schema) as app, app.engine.outage.told_by_the_error():
                command(app=app, json=json, **arguments)

    own = [each for each in signature(command).parameters.values() if each.name not in ("app", "json")]
    shared = {
        "url": (Url, None),
        "folder": (Folder, DEFAULT_FOLDER),
        "schema": (Schema, "penstock"),
        "json": (Json, False),
    }
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in shared.items()
    ]
    run.__signature__ = Signature([*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in own), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return run


def migrate(
    context: typer.Context,
    application: Annotated[
        str | None,
        typer.Argument(metavar="[APP]", help="Also the tables and queues of this application: package.module:app."),
    ] = None,
    url: Url = None,
    folder: Folder = DEFAULT_FOLDER,
    schema: Schema = "penstock",
    with_: With = None,
    without: Annotated[list[str] | None, typer.Option(help="Remove an SQL adapter; may repeat.")] = None,
    json: Json = False,
) -> None:
    """Create or upgrade Penstock's schema in the database. Safe to run again, and from several places at once.

    An application that is named says itself which database, folder and schema are its own; --database-url may name
    another database.
    """
    with explained(json):
        if application is None:
            app = Penstock(url, folder=folder, schema=schema)
        else:
            app = load_app(application)
            for name in ("folder", "schema"):
                if _was_typed(context, name):
                    raise InvalidInput(name, f"is chosen by {application} itself: leave it out")
            if _was_typed(context, "url"):
                app.connect_to(url)
        with app, bar("migrating", json=json) as tell:
            done = app.migrate(tell, with_=with_ or (), without=without or ())
        if json:
            print_json(
                {
                    "schema": app.database.schema,
                    "applied": done.applied,
                    "functions_replaced": done.functions_replaced,
                    "notices": done.notices,
                }
            )
            return
        what = f"applied {', '.join(done.applied)}" if done.applied else "functions updated"
        out.print(
            f"schema {app.database.schema}: {what if done.changed else 'is up to date'}",
            highlight=False,
            soft_wrap=True,
        )
        for notice in done.notices:
            err.print(f"notice: {notice}", highlight=False, markup=False, soft_wrap=True)


def _was_typed(context: typer.Context, name: str) -> bool:
    """Rather than taken from the environment, which the application reads too."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@db.command()
def start(
    folder: Folder = DEFAULT_FOLDER,
    tcp: Annotated[bool, typer.Option(help="Also listen on 127.0.0.1, with a password.")] = False,
    port: Annotated[int, typer.Option(help="The TCP port; 0 takes a free one.")] = 0,
    json: Json = False,
) -> None:
    """Start the embedded Postgres and leave it running until `penstock db stop`."""
    with explained(json), embedded.start(folder, tcp=tcp, port=port, stay=True) as postgres:
        address = postgres.tcp_url or postgres.url
        if json:
            print_json({"url": address, "folder": postgres.folder})
        else:
            out.print(f"Postgres is running under {postgres.folder}", soft_wrap=True)
            place = "" if folder == DEFAULT_FOLDER else f" --folder {shlex.quote(str(folder))}"
            out.print(f'  export DATABASE_URL="$(penstock db url{place})"', soft_wrap=True, highlight=False)
            if postgres.tcp_url:
                out.print(f"  over TCP: {shown_address(postgres.tcp_url)}, with the same user and password")


@db.command()
def stop(folder: Folder = DEFAULT_FOLDER, json: Json = False) -> None:
    """Stop the embedded Postgres, whoever uses it. Its data stays."""
    with explained(json):
        stopped = embedded.stop(folder)
        if json:
            print_json({"stopped": stopped})
        else:
            out.print("stopped" if stopped else f"none is running under {folder}")


@db.command()
def url(folder: Folder = DEFAULT_FOLDER, json: Json = False) -> None:
    """Print the running embedded Postgres's address, e.g. for psql "$(penstock db url)"."""
    with explained(json):
        address = embedded.running_url(folder)
        if address is None:
            raise PenstockError(f"none is running under {folder}; start one with `penstock db start`")
        if json:
            print_json({"url": address})
        else:
            typer.echo(address)
