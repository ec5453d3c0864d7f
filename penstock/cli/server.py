"""`penstock server` and `penstock up`: the HTTP API, alone or with everything else."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from penstock.app import Penstock
from penstock.cli.interrupt import ending_on_the_spot, interruptible
from penstock.cli.load import load_app
from penstock.cli.options import With
from penstock.cli.output import err, explained
from penstock.cli.progress import bar
from penstock.cli.reload import Reloader
from penstock.cli.summary import Started, introduce
from penstock.cli.worker import (
    FORMATS,
    App,
    Grace,
    Level,
    LogFormat,
    QueueSlots,
    processes_given,
    set_up_logs,
    slots_of,
    warn_of_unknown,
)
from penstock.errors import InvalidInput, PenstockError
from penstock.extras import needs
from penstock.storage.links import signing_secret
from penstock.worker.supervisor import Supervisor

if TYPE_CHECKING:
    from penstock.server.asgi import Server
    from penstock.server.http.uvicorn import HttpServer
    from penstock.server.settings import ServerSettings

Host = Annotated[str, typer.Option(envvar="PENSTOCK_HOST", help="The address to listen on.")]
Port = Annotated[int, typer.Option(envvar="PENSTOCK_PORT", min=0, max=65535, help="The port; 0 takes a free one.")]
LevelOption = Annotated[Level, typer.Option(help="What to log, from this on.")]
FormatOption = Annotated[LogFormat, typer.Option(help=FORMATS)]


def server(
    app: App,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    log_level: LevelOption = Level.INFO,
    log_format: FormatOption = LogFormat.AUTO,
) -> None:
    """Serve the HTTP API. Workers run elsewhere: `penstock worker`.

    Settings come from the environment: PENSTOCK_SERVICE_KEY, PENSTOCK_JWT_SECRET or PENSTOCK_JWKS_URL,
    PENSTOCK_PUBLIC_URL, PENSTOCK_MAX_BODY and others; the reference names them all.
    """
    with explained(json=False), ending_on_the_spot():
        set_up_logs(log_level, log_format)
        loaded = load_app(app)
        from penstock.server.settings import ServerSettings

        settings = ServerSettings.from_environment()
        if not (settings.service_key or settings.jwt_secret or settings.jwks_url):
            raise PenstockError(
                "nobody could sign in: set PENSTOCK_SERVICE_KEY (openssl rand -hex 32), and PENSTOCK_JWT_SECRET or "
                "PENSTOCK_JWKS_URL for your users; `penstock up` makes them for development"
            )
        loaded.url()
        _run(_serve(loaded, settings, host, port, _tell_address))


def up(
    app: App,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    queues: QueueSlots = None,
    processes: Annotated[
        str, typer.Option("--processes", "-p", help="Worker processes, or from how many to how many by load: 1:4.")
    ] = "1",
    grace: Grace = 30.0,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again when a file of the application changes: for development.")
    ] = False,
    with_: With = None,
    log_level: LevelOption = Level.INFO,
    log_format: FormatOption = LogFormat.AUTO,
    tied_to: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Start everything: Postgres if there is no DATABASE_URL, the schema, the HTTP API, workers. Ctrl-C ends it all.

    Without PENSTOCK_SERVICE_KEY and PENSTOCK_JWT_SECRET it makes both, and keeps them in .penstock for the next time.

    Ctrl-C or SIGTERM lets running jobs finish for --grace seconds and gives the rest back at no cost of an attempt; a
    second one ends at once.

    Exit codes: 0 stopped, everything finished · 1 could not start · 2 wrong usage · 3 stopped, some jobs were given
    back unfinished · 130 Ctrl-C before it had started.
    """
    if reload:
        command = [sys.executable, "-m", "penstock.cli", *(each for each in sys.argv[1:] if each != "--reload")]
        with ending_on_the_spot():
            code = asyncio.run(Reloader(command, Path.cwd(), _say).run())
        raise typer.Exit(code)
    with explained(json=False), ending_on_the_spot():
        if not grace >= 0:
            raise InvalidInput("grace", f"must not be negative, not {grace!r}")
        least, most = processes_given(processes)
        set_up_logs(log_level, log_format)
        loaded = load_app(app)
        from penstock.server.auth.development import settings_for_development

        with interruptible(), bar("starting", json=log_format is LogFormat.JSON) as tell:
            applied = loaded.migrate(tell, with_=with_ or ()).applied
        settings = settings_for_development(loaded.folder)
        command = [
            sys.executable, "-m", "penstock.cli", "worker", app, "--log-level", log_level, "--log-format", log_format,
            "--grace", str(grace), "--introduced", *(["--queues", queues] if queues else []),
        ]  # fmt: skip
        slots = slots_of(queues, loaded)
        warn_of_unknown(slots, loaded)
        workers = Supervisor(command, loaded.engine, queues=slots, least=least, most=most)

        def tell_all(http: "HttpServer", pages: dict[str, str]) -> None:
            started = Started(loaded, http.address, pages, slots, (least, most), grace, applied)
            introduce(started, as_json=log_format is LogFormat.JSON)

        code = _run(_serve(loaded, settings, host, port, tell_all, workers=workers, tied_to=tied_to))
    raise typer.Exit(code)


def _let_workers_link(settings: "ServerSettings", address: str) -> None:
    """What a job needs to make links to files that this server serves; its workers inherit it."""
    os.environ.setdefault("PENSTOCK_PUBLIC_URL", address)
    secret = signing_secret(settings.signing_secret, settings.service_key)
    if secret is not None:
        os.environ.setdefault("PENSTOCK_SIGNING_SECRET", secret)


async def _serve(
    app: Penstock,
    settings: "ServerSettings",
    host: str,
    port: int,
    tell: Callable[["HttpServer", dict[str, str]], None],
    *,
    workers: Supervisor | None = None,
    tied_to: int | None = None,
) -> int:
    from penstock.server.asgi import Server
    from penstock.server.auth.development import sign_in_for_development
    from penstock.server.http.uvicorn import HttpServer, open_socket

    server = Server(app, settings, sign_in_for_development(app.folder, settings) if workers is not None else None)
    with open_socket(host, port) as listening:
        http = HttpServer(server, listening)
        if workers is not None:
            _let_workers_link(settings, http.address)
        stopping = False

        def stop() -> None:
            """Once: gently. Again: at once."""
            nonlocal stopping
            stopping = True
            http.stop()
            if workers is not None:
                workers.stop()

        _on_signals(stop)
        if tied_to is not None:
            _stop_when_closed(tied_to, stop)
        await server.get_ready()
        http.listen()
        tell(http, _pages(server, http.address, sign_in=workers is not None and err.is_terminal))
        keeping = asyncio.create_task(workers.keep()) if workers is not None else None
        try:
            await http.run()
        finally:
            if not stopping:  # or the workers would take it for a second signal, and give their jobs no time
                stop()
            code = await keeping if keeping is not None else 0
            await app.aclose()
    return code


def _stop_when_closed(descriptor: int, stop: Callable[[], None]) -> None:
    """When the program at the other end of the pipe is gone, whatever ended it."""
    loop = asyncio.get_running_loop()
    os.set_inheritable(descriptor, False)

    def closed() -> None:
        loop.remove_reader(descriptor)
        stop()

    loop.add_reader(descriptor, closed)


def _pages(server: "Server", address: str, *, sign_in: bool) -> dict[str, str]:
    """What a browser can open there; `sign_in` for whoever sits at this terminal: to the dashboard by a link that works
    once, to the application's own pages as a user."""
    pages = {"dashboard": "/", "api": "/docs"}
    served = {getattr(route, "path", None) for route in server.asgi.routes}
    found = {about: address + path.rstrip("/") for about, path in pages.items() if path in served} or {"api": address}
    if sign_in and server.dashboard is not None:
        found["dashboard"] = f"{address}{server.dashboard.sign_in.once()}"
    for page in server.services.app.pages:
        at = address + page.path
        found[page.title.lower()] = server.sign_in.link(at) if sign_in and server.sign_in is not None else at
    return found


def _tell_address(http: "HttpServer", pages: dict[str, str]) -> None:
    for about, page in pages.items():
        _say(about, page)
    del http


def _on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


def _run(serving: Coroutine[Any, Any, int]) -> int:
    with needs("server", "the server"):
        import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)


def _say(what: str, where: str) -> None:
    err.print(f"[bold]{what:>12}[/]  {escape(where)}", soft_wrap=True, highlight=False)
