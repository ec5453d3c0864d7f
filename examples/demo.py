"""`make demo`: a Postgres of its own, the API, workers, and four applications on them, each with a page. On a terminal
it goes on until Ctrl-C; elsewhere it ends by itself."""

import asyncio
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock import Penstock
from penstock.server import Server
from penstock.server.auth.development import SignIn, settings_for_development
from penstock.server.http.uvicorn import CannotListen, HttpServer, open_socket
from penstock.worker.supervisor import Supervisor
from penstock_recipes import bookmarks, calls, exports, readings
from penstock_recipes.bookmarks.demo import demo as show_bookmarks
from penstock_recipes.bookmarks.demo import guard_for_demo
from penstock_recipes.bookmarks.demo_site import website
from penstock_recipes.calls.demo import ORG
from penstock_recipes.calls.demo import demo as show_call
from penstock_recipes.exports.demo import demo as show_exports
from penstock_recipes.readings.demo import demo as show_reading

ROOT = Path(__file__).parent.parent
MADE = ROOT / ".penstock" / "demo"

app = Penstock(folder=ROOT / ".penstock")
exports.install(app)
readings.install(app)
bookmarks.install(app, guard=guard_for_demo())
calls.install(app, poll_interval=0.5)
console = Console()


@app.job(queue="fast")
async def count(number: int) -> None: ...


@dataclass(frozen=True)
class Running:
    client: httpx.AsyncClient
    """Asks as a user."""
    pages: str
    """Where a browser sees all of it, as the same user."""


@asynccontextmanager
async def everything_up() -> AsyncIterator[Running]:
    """The database, the API, and worker processes."""
    started = time.perf_counter()
    console.print("[bold]Penstock[/]: starting a Postgres of its own under .penstock/, the API and two workers …")
    await asyncio.to_thread(app.migrate)
    # another user each time: what the last one made counts against their quota for a week
    ada = f"ada-{secrets.token_hex(3)}"
    settings = settings_for_development(app.folder)
    sign_in = SignIn(settings, ada, str(ORG))
    http = HttpServer(Server(app, settings, sign_in), _socket())
    command = [sys.executable, "-m", "penstock.cli", "worker", "examples.demo:app", "--log-level", "warning"]
    workers = Supervisor(
        [*command, "--no-log-jobs"], app.engine, queues=dict.fromkeys(app.queue_names, 50), least=2, most=2
    )
    serving, working = asyncio.create_task(http.run()), asyncio.create_task(workers.keep())
    try:
        headers = {"Authorization": f"Bearer {sign_in.token(sign_in.code)}"}
        async with httpx.AsyncClient(base_url=http.address, headers=headers, timeout=60) as client:
            while not serving.done() and not await _answers(client):  # noqa: ASYNC110 - as any other client would
                await asyncio.sleep(0.05)
            console.print(f"ready after {time.perf_counter() - started:.1f} s: {http.address}/docs\n")
            yield Running(client, sign_in.link(f"{http.address}/recipes"))
    finally:
        http.stop()
        workers.stop()
        await asyncio.wait([serving, working])


def _socket() -> socket.socket:
    """The port that people expect, if nobody has it."""
    try:
        return open_socket("127.0.0.1", 8000)
    except CannotListen:
        return open_socket("127.0.0.1", 0)


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).is_success
    except httpx.TransportError:
        return False


async def show_speed(jobs: int) -> None:
    started = time.perf_counter()
    handles = await count.aenqueue_many([{"number": number} for number in range(jobs)])
    enqueued = time.perf_counter()
    for handle in handles[-100:]:
        await handle.aresult(timeout=60)
    finished = time.perf_counter()
    console.print(
        f"{jobs:,} jobs enqueued in {enqueued - started:.2f} s by one call and run in {finished - enqueued:.2f} s, "
        "each on record\n"
    )


async def main() -> None:
    shutil.rmtree(MADE, ignore_errors=True)
    MADE.mkdir(parents=True)
    bars = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn())
    async with app, everything_up() as running:
        with Progress(*bars, console=console) as progress:
            await show_exports(running.client, MADE / "resumes", progress)
            await show_bookmarks(running.client, MADE / "bookmarks", progress)
            await show_call(running.client, MADE / "call", progress)
            await show_reading(running.client, MADE / "reading", progress)
        console.print()
        await show_speed(20_000)
        show_files()
        if console.is_terminal and sys.stdin.isatty():
            console.print(f"Look at all of it, and play:  [bold]{running.pages}[/]\n", soft_wrap=True, highlight=False)
            console.print("It goes on until Ctrl-C.")
            await play()
            return
    console.print(
        "Look around yourself:  [bold].venv/bin/penstock jobs list[/]  ·  "
        "[bold].venv/bin/penstock up examples.demo:app[/]",
        soft_wrap=True,
    )


async def play() -> None:
    """Until somebody interrupts: the demonstration's own website is there to be bookmarked again."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    try:
        async with website():
            await stopped.wait()
    except OSError:
        await stopped.wait()
    console.print("\nstopping …")


def show_files() -> None:
    files = sorted(path for path in MADE.rglob("*") if path.is_file())
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    console.print(f"[bold]{len(files)} files[/], {megabytes:.1f} MB, in [bold]{MADE}[/]:")
    for below in sorted(MADE.iterdir()):
        some = [path for path in files if path.is_relative_to(below)]
        for path in some[:4]:
            console.print(f"  {path.relative_to(MADE)}  [dim]{path.stat().st_size:,} bytes[/]")
        if len(some) > 4:
            console.print(f"  {below.name}/…  [dim]{len(some) - 4} more[/]")
    console.print()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        console.print("\nstopped; what was enqueued stays in the database and goes on when a worker is there")
        sys.exit(130)
