"""`penstock wake`: a consumer elsewhere is called when there is work."""

import asyncio
import logging
import os
import signal
from typing import Annotated

import typer

from penstock.app import Penstock
from penstock.cli.output import out
from penstock.cli.queues import known_unless
from penstock.errors import InvalidInput, meant
from penstock.logs import set_up

log = logging.getLogger("penstock.waker")


def wake(
    app: Penstock,
    json: bool,
    target: Annotated[str, typer.Argument(metavar="ADDRESS", help="The consumer's URL, which is POSTed to.")],
    queue: Annotated[list[str], typer.Option("--queue", "-q", help="A queue to watch; may be said several times.")],
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="Sent along: 'Name: value'. May be said several times.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the consumer may work before it answers.")] = 300.0,
    processed: Annotated[
        str, typer.Option(metavar="FIELD", help="The field of its answer that says how many jobs it ran.")
    ] = "processed",
) -> None:
    """Call a URL whenever there is work in a queue, until stopped: for consumers that only run while they are called.

    Listens to the database: a consumer is called within milliseconds, again while its answer's `processed` is not 0,
    and not at all while there is nothing to do. With PENSTOCK_SERVICE_KEY set, that is sent along as
    `Authorization: Bearer`. Calls that fail are repeated, after longer and longer pauses; nothing is lost meanwhile.
    """
    set_up("info", json=json)
    for name in queue:
        if known := known_unless(app, name):  # its first job may be yet to come
            log.warning("queue: there is no %r yet%s", name, meant(name, known))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    key = os.environ.get("PENSTOCK_SERVICE_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers |= dict(_header(each) for each in header or [])
    asyncio.run(_wake(app, target, queue, headers, timeout, processed))
    if not json:
        out.print("stopped")


async def _wake(
    app: Penstock,
    target: str,
    queues: list[str],
    headers: dict[str, str],
    timeout: float,  # noqa: ASYNC109
    processed: str,
) -> None:
    waker = app.waker(target, queues, headers=headers, timeout=timeout, processed=processed)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, waker.stop)
    await waker.run()


def _header(given: str) -> tuple[str, str]:
    name, colon, value = given.partition(":")
    if not colon or not name.strip():
        raise InvalidInput("header", f"{given!r}: write it as 'Name: value'")
    return name.strip(), value.strip()
