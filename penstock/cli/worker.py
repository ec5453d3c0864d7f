"""`penstock worker` and `penstock tick`: running jobs."""

import asyncio
import logging
import os
import re
import signal
import sys
from enum import StrEnum
from typing import Annotated

import typer

from penstock.app import Penstock
from penstock.cli.interrupt import INTERRUPTED, ending_on_the_spot
from penstock.cli.load import load_app
from penstock.cli.output import explained, out, print_json, print_table
from penstock.engine import commands
from penstock.errors import InvalidInput, meant
from penstock.logs import counted, keep_urls_out, set_up
from penstock.middleware import log_jobs
from penstock.worker import Worker
from penstock.worker.memory import MemoryWatch, bytes_given
from penstock.worker.program import FINISHED, RECYCLED, end_with_parent, leave, serve, tell
from penstock.worker.supervisor import PLACE, Supervisor
from penstock.worker.tick import TickResult
from penstock.worker.worker import SLOTS

log = logging.getLogger("penstock.worker")


class LogFormat(StrEnum):
    AUTO = "auto"
    TEXT = "text"
    JSON = "json"
    APP = "app"


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


FORMATS = "text for people, json for machines; auto: text on a terminal; app: as the application has set it up."


def set_up_logs(level: Level, form: LogFormat) -> None:
    if form is LogFormat.APP:
        keep_urls_out()
    else:
        set_up(level, json=None if form is LogFormat.AUTO else form is LogFormat.JSON)


App = Annotated[str, typer.Argument(metavar="APP", help="Where the application is: package.module:app.")]
QueueSlots = Annotated[
    str | None,
    typer.Option(
        "--queues", "-q",
        help="Queues and how many jobs of each may run at once, e.g. default:50,exports:3. "
        f"Without a number: {SLOTS}, or what the application says. Default: the queues of the application's handlers.",
    ),
]  # fmt: skip
Grace = Annotated[float, typer.Option(help="Seconds that running jobs may go on when it is stopped.")]


def worker(
    app: App,
    queues: QueueSlots = None,
    processes: Annotated[
        str, typer.Option("--processes", "-p", help="How many processes, or from how many to how many by load: 1:4.")
    ] = "1",
    grace: Grace = 30.0,
    lease: Annotated[
        float | None,
        typer.Option(help="Seconds after which a worker that is not heard of loses its jobs. Default: 30."),
    ] = None,
    log_level: Annotated[Level, typer.Option(help="What to log, from this on.")] = Level.INFO,
    log_format: Annotated[LogFormat, typer.Option(help=FORMATS)] = LogFormat.AUTO,
    jobs_logged: Annotated[
        bool, typer.Option("--log-jobs/--no-log-jobs", help="A line for each job; leave it out beyond 1,000 jobs/s.")
    ] = True,
    api: Annotated[
        str | None,
        typer.Option(
            envvar="PENSTOCK_API",
            show_envvar=True,
            help="Work through the API of a Penstock server at this address, without a database connection. "
            "The service key comes from PENSTOCK_SERVICE_KEY.",
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            envvar="PENSTOCK_METRICS_PORT",
            help="Answer GET /metrics for Prometheus on this port; of several processes, each on the next. "
            "Needs penstock[server].",
        ),
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="The address that the metrics are served on.")] = "127.0.0.1",
    max_memory: Annotated[
        str | None,
        typer.Option(help="Memory past which a process lets its jobs finish and is replaced by a fresh one: 500MB."),
    ] = None,
    supervised: Annotated[int | None, typer.Option(hidden=True)] = None,
    introduced: Annotated[bool, typer.Option("--introduced", hidden=True)] = False,
) -> None:
    """Run jobs until stopped.

    SIGTERM or Ctrl-C stops claiming, lets running jobs finish for --grace seconds and gives the rest back at no cost of
    an attempt; a second one ends at once.

    Exit codes: 0 stopped, everything finished · 1 could not start · 2 wrong usage · 3 stopped, some jobs were given
    back unfinished · 130 Ctrl-C before it had started. A process past --max-memory starts anew by itself; one of
    several ends with 4, and is replaced.
    """
    with explained(json=False), ending_on_the_spot():
        least, most = processes_given(processes)
        memory = None if max_memory is None else bytes_given(max_memory)
        if metrics_port is not None:
            import penstock.worker.metrics  # noqa: F401 - what is missing for it is said here, once
        set_up_logs(log_level, log_format)
        loaded = load_app(app)
        slots = slots_of(queues, loaded)
        if supervised is None and not introduced:  # or whoever started it has said so
            warn_of_unknown(slots, loaded)
        if api is None:
            if loaded.has_database:
                loaded.url()  # what is wrong with it is said here, once
        else:
            logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request
        if jobs_logged:
            loaded.middleware(log_jobs)
        if supervised is None and most > 1:
            code = asyncio.run(_supervise(loaded, slots, least, most, api))
        else:
            where = (metrics_host, metrics_port) if metrics_port is not None else None
            code = asyncio.run(_work(loaded, slots, grace, lease, api, supervised, where, memory, introduced))
        loaded.close()
    if code == RECYCLED and supervised is None:
        os.execv(sys.executable, [sys.executable, "-m", "penstock.cli", *sys.argv[1:]])  # noqa: S606 (ourselves)
    leave(code)


async def _work(
    app: Penstock,
    slots: dict[str, int],
    grace: float,
    lease: float | None,
    api: str | None,
    supervised: int | None,
    metrics: tuple[str, int] | None,
    max_memory: int | None,
    introduced: bool,
) -> int:
    runner = app.worker(slots, grace=grace, lease=lease, api=api)
    runner.introduced = introduced
    server = await _measure(runner, {*slots, *app.declared_queues}, *metrics) if metrics is not None else None
    memory = MemoryWatch(runner, max_memory) if max_memory is not None else None
    if memory is not None:
        memory.start()
    if supervised is not None:
        end_with_parent(runner, supervised)
        os.set_inheritable(supervised, False)
        runner.on_lease = tell(supervised)
    code = await serve(runner)
    if supervised is not None and code == FINISHED:
        tell(supervised)(None)
    if server is not None:
        server.close()
    if memory is not None:
        await memory.stop()
    return RECYCLED if runner.recycling else code


async def _measure(runner: Worker, queues: set[str], host: str, port: int) -> asyncio.Server:
    from penstock.worker.metrics import WorkerMetrics, serve_metrics

    metrics = WorkerMetrics(sorted(queues))
    runner.observers.hooks.append(metrics.note)
    port += int(os.environ.get(PLACE, "0"))
    try:
        return await serve_metrics(metrics, host, port)
    except OSError as error:
        raise InvalidInput("metrics-port", f"{port} cannot be used: {error.strerror}") from None


async def _supervise(app: Penstock, slots: dict[str, int], least: int, most: int, api: str | None) -> int:
    engine = app.engine if api is None else app.remote_engine(api)
    # what is wrong with the database is said here, once, not again and again by processes that die of it
    with engine.outage.told_by_the_error():
        await engine.arun(commands.Backlog(list(slots), 1))
    command = [sys.executable, "-m", "penstock.cli", *sys.argv[1:]]
    return await Supervisor(command, engine, queues=slots, least=least, most=most).run()


def tick(
    app: App,
    limit: Annotated[int, typer.Option(help="At most so many jobs.")] = 100,
    budget: Annotated[float, typer.Option(help="For about so many seconds.")] = 25.0,
    queues: QueueSlots = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Run what is ready, then leave: for cron jobs and serverless functions, instead of a worker that stays.

    Ctrl-C or SIGTERM gives back what still runs, with exit code 130; a second one ends at once.
    """
    with explained(json), ending_on_the_spot():
        loaded = load_app(app)
        slots = slots_of(queues, loaded)
        warn_of_unknown(slots, loaded)
        results = asyncio.run(_tick(loaded, limit, budget, slots))
        loaded.close()
    if results is None:
        raise typer.Exit(INTERRUPTED)
    if json:
        print_json({"results": results})
        return
    print_table(
        ["job", "kind", "state", "attempt", "seconds", "error"],
        [[each.id, each.kind, each.state, each.attempt, f"{each.seconds:.3f}", each.error] for each in results],
        empty="nothing to do",
    )
    if results:
        out.print(counted(len(results), "job"))


async def _tick(app: Penstock, limit: int, budget: float, slots: dict[str, int]) -> list[TickResult] | None:
    """None when Ctrl-C or SIGTERM ended it: what ran was given back."""
    ticking = asyncio.ensure_future(app.atick(limit, budget, slots))
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if stopped:
            os._exit(INTERRUPTED)
        stopped = ticking.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        return await ticking
    except asyncio.CancelledError:
        return None


def slots_of(given: str | None, app: Penstock) -> dict[str, int]:
    """default:50,exports:3 as a mapping."""
    if given is None:
        return {queue: app.slots(queue) for queue in app.queue_names}
    slots = {}
    for part in given.split(","):
        match = re.fullmatch(r"\s*([^:,]+?)(?::(\d+))?\s*", part)
        if match is None or (match[2] is not None and int(match[2]) < 1):
            raise InvalidInput("queues", f"{part!r}: write it as default:50,exports:3")
        slots[match[1]] = int(match[2] or app.slots(match[1]))
    return slots


def warn_of_unknown(slots: dict[str, int], app: Penstock) -> None:
    """It may well serve a queue that only single calls name; or it is a slip of the pen, and idle for ever."""
    known = app.known_queues
    for name in sorted(slots.keys() - set(known)):
        log.warning("queues: no handler here puts its jobs into %r%s", name, meant(name, known))


def processes_given(given: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)(?::(\d+))?", given)
    if match is None or int(match[1]) < 1 or int(match[2] or match[1]) < int(match[1]):
        raise InvalidInput("processes", f"{given!r}: write it as 2, or as 1:4 for from 1 to 4 by load")
    return int(match[1]), int(match[2] or match[1])
