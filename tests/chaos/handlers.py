"""The application under test: handlers of every sort, each of which returns the number of the claim it ran for."""

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from penstock import Backoff, Context, Penstock, SyncContext
from penstock.context import JobContext
from tests.chaos.ledger import Runs

SOON = Backoff(0.2, cap=1.0)
AGAIN = 1000
"""Attempts of a job that shall succeed in the end, however often its worker is killed."""

A_DAY = 24 * 3600

Claim = dict[str, int]


def make_app(url: str, runs: Runs | None = None) -> Penstock:
    """The workers' application writes to `runs`; a producer's only knows the kinds."""
    app = Penstock(url)

    @contextmanager
    def noted(ctx: JobContext, load: str) -> Iterator[Claim]:
        assert runs is not None
        assert load in ("", ctx.job.kind * 1000)
        claims = ctx.job.claims
        runs.write("began", ctx.id, claims, ctx.lease)
        try:
            yield {"claims": claims}
        except BaseException:
            runs.write("raised", ctx.id, claims, ctx.lease)
            raise
        runs.write("returned", ctx.id, claims, ctx.lease)

    @app.job(max_attempts=AGAIN, backoff=SOON, users=True)
    async def swift(ctx: Context, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            await asyncio.sleep(random.uniform(0, 0.05))
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    async def slow(ctx: Context, load: str = "") -> Claim:
        """So that whoever is hit has something in hand."""
        with noted(ctx, load) as claim:
            await asyncio.sleep(random.uniform(0.5, 2.5))
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    def threaded(ctx: SyncContext, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            time.sleep(random.uniform(0, 0.1))
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    async def shaky(ctx: Context, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            if ctx.attempt == 1:
                raise ConnectionError("the first time it never works")
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    async def paid(ctx: Context, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            async with ctx.transaction() as connection:
                await connection.execute("insert into chaos.effects values (%s, %s)", [ctx.id, ctx.job.claims])
                await asyncio.sleep(random.uniform(0, 0.2))
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    def paid_in_thread(ctx: SyncContext, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            with ctx.transaction() as connection:
                connection.execute("insert into chaos.effects values (%s, %s)", [ctx.id, ctx.job.claims])
                time.sleep(random.uniform(0, 0.2))
            return claim

    @app.job(max_attempts=AGAIN, backoff=SOON)
    async def long(ctx: Context, load: str = "") -> Claim:
        """Until the storm is over, by one worker or the next; says all the while how many seconds old it is."""
        with noted(ctx, load) as claim:
            assert runs is not None
            while not await asyncio.to_thread(runs.over.exists):
                await ctx.progress(done=round(time.time() - ctx.job.created_at.timestamp(), 1), total=A_DAY)
                await asyncio.sleep(0.5)
            return claim

    @app.job(max_attempts=2, backoff=SOON)
    async def doomed(ctx: Context, load: str = "") -> Claim:
        """Fails for good, after it has paid."""
        with noted(ctx, load):
            async with ctx.transaction() as connection:
                await connection.execute("insert into chaos.effects values (%s, %s)", [ctx.id, ctx.job.claims])
            raise ValueError("it never works")

    @app.job(max_attempts=AGAIN, backoff=SOON)
    async def probe(ctx: Context, load: str = "") -> Claim:
        with noted(ctx, load) as claim:
            return claim

    return app
