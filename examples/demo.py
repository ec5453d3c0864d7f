"""`make demo`: starts a real Postgres of its own and a worker, gives it jobs, and shows what becomes of them."""

import asyncio
import random
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from penstock import Backoff, Context, Flow, Job, JobHandle, JobState, Penstock, SyncContext, batch

app = Penstock(folder=Path(__file__).parent.parent / ".penstock")
console = Console()


@app.job(queue="demo")
async def write_chapter(ctx: Context, number: int) -> dict[str, int]:
    for page in range(1, 11):
        await asyncio.sleep(random.uniform(0.005, 0.03))
        await ctx.progress(done=page, total=10)
    return {"chapter": number, "words": random.randint(1500, 4000)}


@app.job(queue="demo")
def set_chapter(ctx: SyncContext, number: int) -> dict[str, int]:
    """Not async: it runs in a thread."""
    [text] = ctx.outputs()
    time.sleep(random.uniform(0.05, 0.15))
    return {"chapter": number, "pages": text.output["words"] // 250}


@app.job(queue="demo")
async def bind_book(ctx: Context, title: str) -> dict[str, str | int]:
    chapters = [earlier.output for earlier in await ctx.outputs() if earlier.kind == "set_chapter"]
    return {"title": title, "pages": sum(chapter["pages"] for chapter in chapters)}


@app.job(queue="demo", max_attempts=3, backoff=Backoff.constant(0.05))
async def send_copy(reader: str) -> str:
    if reader == "nobody":
        raise ValueError("there is nobody of that name")
    return f"sent to {reader}"


@app.job(queue="fast")
async def count(number: int) -> None: ...


async def show(title: str, flow: Flow) -> JobHandle[object]:
    """Enqueues a flow and follows its progress."""
    handle = await app.aenqueue(flow)
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")) as progress:
        task = progress.add_task(title, total=100)
        while True:
            job = await handle.arefresh()
            phase = job.progress.get("phase", "")
            progress.update(task, completed=job.percent, description=f"{title} [dim]{phase}[/]")
            if job.state.final:
                return handle
            await asyncio.sleep(0.05)


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
    console.print("[bold]Penstock[/]: starting a Postgres of its own under .penstock/ …")
    started = time.perf_counter()
    await asyncio.to_thread(app.url)
    console.print(f"ready after {time.perf_counter() - started:.1f} s\n")

    async with app:
        worker = app.worker({"demo": 4, "fast": 50})
        running = asyncio.create_task(worker.run())
        try:
            await worker.ready.wait()

            book = Flow(then=bind_book.prepare(title="The Reservoir"), phases={"writing": (0, 50), "setting": (50, 90)})
            for number in range(1, 9):
                text = book.add(write_chapter.prepare(number=number), phase="writing")
                book.add(set_chapter.prepare(number=number), after=[text], phase="setting")
            await show("a book of 8 chapters, each written, then set; then bound", book)

            readers = ["Ada", "Grace", "Edsger", "nobody", "Barbara"]
            sending = batch(send_copy.prepare(reader=reader) for reader in readers)
            copies = await show("a batch of 5, one of which cannot succeed   ", sending)
            report = await copies.arefresh()
            console.print(f"the batch ended as {report.state} with {report.output}\n")

            await show_speed(20_000)
            show_jobs((await app.jobs.alist(queue=["demo", "default"], limit=12)).jobs)
        finally:
            worker.stop()
            await running
    console.print(
        "\nLook around yourself:  [bold].venv/bin/penstock jobs list[/]  ·  [bold].venv/bin/penstock queues list[/]"
    )


def show_jobs(jobs: list[Job]) -> None:
    table = Table("job", "kind", "state", "attempts", "result", box=None, header_style="bold")
    for job in jobs:
        colour = "green" if job.state is JobState.SUCCEEDED else "red"
        result = job.output if job.output is not None else job.last_error
        table.add_row(str(job.id)[-12:], job.kind, f"[{colour}]{job.state}[/]", str(job.attempt), str(result))
    console.print(table)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        raise SystemExit("stopped; the Postgres has gone too, and what was enqueued is kept under .penstock/") from None
