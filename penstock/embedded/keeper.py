"""The keeper: a small process that owns one server, and ends with it when nobody uses it any more.

Run by `server.py` through `run_keeper.py`, apart from the starter's terminal and pipes.
It tells the starter how it went by one message on a pipe, and everybody else by `running.json`.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from penstock.embedded import locks
from penstock.embedded.account import make_server_folder, server_account, socket_folder, within_reach
from penstock.embedded.children import Children, NotWanted, Watch
from penstock.embedded.cluster import prepare_cluster
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, trim
from penstock.embedded.postmaster import after_an_earlier_server, clear_traces, start_postmaster, stop_postmaster
from penstock.embedded.running import READY, Request, RunningServer


def keep(layout: Layout, binaries: Path, request: Request, *, shipped: bool, report: int) -> None:
    """Start a server, and stay until it has ended or is not wanted."""
    watch = Watch(layout)
    layout.stay.unlink(missing_ok=True)
    account = server_account(layout.server)
    make_server_folder(layout, account)
    reachable = within_reach(binaries, account, shipped=shipped)
    trim(layout.log)
    with after_an_earlier_server(layout, watch) as server_lock, socket_folder(layout, account) as sockets:
        children = Children(layout, reachable, account, watch, server_lock, log=sys.stderr.fileno())
        clear_traces(layout, sockets)
        prepare_cluster(layout, children)
        server, port = start_postmaster(children, request, sockets)
        try:
            running = RunningServer(os.getpid(), server.pid, str(sockets), port, request.tcp, request.settings)
            running.write(layout)
            tell(report, READY)
            watch.serve(server, chore=lambda: trim(layout.log))
        finally:
            layout.running.unlink(missing_ok=True)
            layout.stay.unlink(missing_ok=True)
            stop_postmaster(server, children)


def tell(report: int, message: str) -> None:
    """Send the starter its one message. It may have gone, which the users' lock tells better."""
    with suppress(BrokenPipeError), os.fdopen(report, "wb") as pipe:
        pipe.write(message.encode(errors="replace"))


def detach() -> None:
    """Become a child of init: the starter may live on for long and would have to bury us."""
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.umask(0o077)


def main(folder: str, binaries: str, shipped: str, request: str, report: str, keeper_lock: str) -> None:
    detach()
    try:
        keep(
            Layout(Path(folder)),
            Path(binaries),
            Request.from_json(request),
            shipped=shipped == "shipped",
            report=int(report),
        )
    except NotWanted:
        pass
    except EmbeddedError as problem:
        tell(int(report), str(problem))
    finally:
        # Not left to the kernel: a fork of the starter, made while it started us, shares this lock.
        locks.release(int(keeper_lock))
