"""What programs of two versions do to one database. Run by path, with the version's own code first on PYTHONPATH:

    program.py URL migrate | enqueue | contract | work | serve

`serve` is the API until standard input ends; with its address in API, `work` is done over HTTP.

Only what is public and old enough is used here: both versions must be able to run it.
"""

import asyncio
import json
import os
import socket
import sys

import penstock
from penstock import Context, Penstock
from penstock.sql.contract import CONTRACT

app = Penstock(sys.argv[1])
JOBS = 30
API = os.environ.get("API")


@app.job(max_attempts=2)
async def work(ctx: Context, number: int, text: str = "") -> dict[str, int]:
    """Reports, remembers a step, fails once, and enqueues another in its own transaction."""
    await ctx.progress(50, "half-way")
    doubled = await ctx.step("double", lambda: 2 * number)
    if number % 5 == 0 and ctx.attempt == 1:
        raise RuntimeError("once")
    if number == 7 and not API:
        async with ctx.transaction() as connection:
            await connection.execute("insert into made values (7)")
    return {"doubled": doubled, "length": len(text)}


def enqueue() -> list[str]:
    """One by one, by COPY, with large arguments, and a flow's worth of waiting."""
    one = [work.enqueue(0), work.using(priority=3, owner="ada").enqueue(7, "x")]
    many = work.enqueue_many([{"number": number, "text": "Words, and then more. " * 200} for number in range(1, JOBS)])
    return [str(handle.id) for handle in (*one, *many)]


async def run() -> int:
    """Until nothing is ready or scheduled any more."""
    async with app:
        worker = app.worker({"default": 10}, api=API) if API else app.worker({"default": 10})
        running = asyncio.create_task(worker.run())
        ready = asyncio.create_task(worker.ready.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            ready.cancel()
            await running
        while any(queue.ready or queue.running or queue.scheduled for queue in await app.queues.alist()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        worker.stop()
        await running
        return len((await app.jobs.alist(state="succeeded", limit=200)).jobs)


def serve() -> None:
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app.asgi(), log_level="error"))

        async def run() -> None:
            serving = asyncio.create_task(server.serve([listening]))
            print(listening.getsockname()[1], flush=True)
            await asyncio.to_thread(sys.stdin.read)
            server.should_exit = True
            await serving

        asyncio.run(run())


def main() -> None:
    said: object
    match sys.argv[2]:
        case "migrate":
            said = app.migrate().changed
        case "enqueue":
            said = enqueue()
        case "contract":
            said = CONTRACT
        case "serve":
            serve()
            said = None
        case _:
            said = asyncio.run(run())
    print(json.dumps({"from": penstock.__file__, "said": said}))


if __name__ == "__main__":
    main()
