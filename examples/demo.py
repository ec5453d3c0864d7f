"""`make demo`: starts a real Postgres of its own, enqueues jobs, runs them, and shows what became of them.

Jobs are run here by hand through the client that workers use: claim, call the handler, report.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from penstock import Backoff, ClaimedJob, Flow, JobHandle, JobState, Penstock, batch
from penstock.engine import calls
from penstock.job import Lease
from penstock.payload import encode_output, loads

app = Penstock(folder=Path(__file__).parent.parent / ".penstock")
console = Console()


@app.job(queue="demo")
def write_chapter(number: int) -> dict[str, int]:
    return {"chapter": number, "words": random.randint(1500, 4000)}


@app.job(queue="demo")
def set_chapter(number: int) -> dict[str, int]:
    return {"chapter": number, "pages": random.randint(8, 20)}


@app.job(queue="demo")
def bind_book(title: str) -> dict[str, str]:
    return {"title": title, "bound": "yes"}


@app.job(queue="demo", max_attempts=3, backoff=Backoff.constant(0.05))
def send_copy(reader: str) -> str:
    if reader == "nobody":
        raise ValueError("there is nobody of that name")
    return f"sent to {reader}"


def run_jobs(until_done: JobHandle[object], report: Callable[[], None]) -> None:
    """A worker in a dozen lines: it holds a lease, claims, runs and reports."""
    engine = app.engine
    lease = engine.run(calls.open_lease("demo", queues=["demo"]))
    while not until_done.refresh().state.final:
        engine.run(calls.promote())
        for job in engine.run(calls.claim(lease, "demo", 4)):
            time.sleep(0.03)  # so that there is something to see
            run_one(lease, job)
            report()
    engine.run(calls.close_lease(lease))


def run_one(lease: Lease, job: ClaimedJob) -> None:
    handler = app.handler(job.kind)
    try:
        output = handler(**loads(job.args))
    except ValueError as error:
        app.engine.run(calls.fail(lease, [job], [{"error": str(error)}]))
    else:
        app.engine.run(calls.complete(lease, [job], [encode_output(output)]))


def show(title: str, flow: Flow) -> JobHandle[object]:
    """Enqueues a flow and runs it, with its own progress as the bar."""
    handle = app.enqueue(flow)
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")) as progress:
        task = progress.add_task(title, total=100)

        def report() -> None:
            job = handle.refresh()
            phase = job.progress.get("phase", "")
            progress.update(task, completed=job.percent, description=f"{title} [dim]{phase}[/]")

        run_jobs(handle, report)
        report()
    return handle


def main() -> None:
    console.print("[bold]Penstock[/]: starting a Postgres of its own under .penstock/ …")
    started = time.perf_counter()
    app.url()
    console.print(f"ready after {time.perf_counter() - started:.1f} s\n")

    book = Flow(then=bind_book.prepare(title="The Reservoir"), phases={"writing": (0, 50), "setting": (50, 90)})
    for number in range(1, 9):
        text = book.add(write_chapter.prepare(number=number), phase="writing")
        book.add(set_chapter.prepare(number=number), after=[text], phase="setting")
    show("a book of 8 chapters, each written, then set; then bound", book)

    readers = ["Ada", "Grace", "Edsger", "nobody", "Barbara"]
    copies = show("a batch of 5, one of which cannot succeed   ", batch(send_copy.prepare(reader=r) for r in readers))
    console.print(f"the batch ended as {copies.refresh().state} with {copies.refresh().output}\n")

    started = time.perf_counter()
    write_chapter.using(queue="later", delay=3600).enqueue_many([{"number": n} for n in range(10_000)])
    console.print(f"10,000 jobs for later enqueued in {time.perf_counter() - started:.2f} s by one call\n")

    table = Table("job", "kind", "state", "attempts", "result", box=None, header_style="bold")
    for job in app.jobs.list(queue=["demo", "default"], limit=12).jobs:
        colour = "green" if job.state is JobState.SUCCEEDED else "red"
        result = job.output if job.output is not None else job.last_error
        table.add_row(str(job.id)[-12:], job.kind, f"[{colour}]{job.state}[/]", str(job.attempt), str(result))
    console.print(table)
    app.jobs.cancel(*(job.id for job in app.jobs.each(queue="later", state="scheduled")))
    console.print(
        "\nLook around yourself:  [bold].venv/bin/penstock jobs list[/]  ·  [bold].venv/bin/penstock queues list[/]"
    )


if __name__ == "__main__":
    try:
        with app:
            main()
    except KeyboardInterrupt:
        raise SystemExit("stopped; the Postgres has gone too, and what was enqueued is kept under .penstock/") from None
