"""`penstock move`: a queue's jobs to another engine, while both have workers."""

from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.app import Penstock
from penstock.cli.complete import queues
from penstock.cli.output import out, print_json, warn
from penstock.cli.progress import bar
from penstock.engine.mover import Stays
from penstock.engine.mover import move as move_jobs
from penstock.engine.scheme import is_redis
from penstock.errors import InvalidInput, UnknownQueue
from penstock.logs import counted
from penstock.queue import Queues

_WORDS = {
    Stays.RUNNING: "{} running",
    Stays.FLOW: "{} of flows",
    Stays.BEGUN: "{} begun and waiting",
    Stays.SCHEDULE: "{} of schedules",
    Stays.REFUSED: "{} refused",
    Stays.NEW: "{} that came meanwhile, for which the same command goes on",
}


def _reasons(stay: Mapping[Stays, int]) -> str:
    return ", ".join(_WORDS[why].format(f"{count:,}") for why, count in stay.items())


def move(
    app: Penstock,
    json: bool,
    queue: Annotated[str, typer.Option("--queue", "-q", help="Whose jobs to move.", autocompletion=queues)],
    to: Annotated[str, typer.Option(help="Where to: redis://…, rediss://…, redis+cluster://…, or postgresql://….")],
) -> None:
    """Move the jobs of a queue that have not started from the database to BullMQ in Redis, or back.

    Each is put aside where no worker reaches it, added there under the same id, and removed here: none is lost or run
    twice, and after an interruption the same command goes on. Running jobs finish where they are; jobs of flows stay,
    for their workers there to finish.
    """
    to_redis = is_redis(to)
    if not app.has_database if to_redis else app.engine.capabilities.database:
        raise InvalidInput("to", "is an engine of the same sort: the other must be redis://… or postgresql://…")
    with Penstock(to) as there:
        # PENSTOCK_JOBS_URL may be set already, for those who enqueue: what is here and there is by the addresses
        source, target = (app.database, there.engine) if to_redis else (app.engine, there.database)
        total = source.mover().waiting(queue)
        with bar(f"moving {queue}", total, json=json) as tell:
            moved = move_jobs(source, target, queue, tell)
        known = {each.name for side in (source, target) for each in Queues(side).list(most=1)}
    if queue not in known:  # a slip of the pen would be taken for an empty queue
        warn(str(UnknownQueue(queue, known, "nothing was moved")), json=json)
    if json:
        print_json({"queue": queue, "moved": moved.jobs, "left": moved.left, "stay": moved.stay})
        return
    stayed = f"; {counted(moved.left, 'job stays', 'jobs stay')}: {_reasons(moved.stay)}" if moved.left else ""
    out.print(f"{queue}: {counted(moved.jobs, 'job was', 'jobs were')} moved{stayed}", highlight=False, soft_wrap=True)
