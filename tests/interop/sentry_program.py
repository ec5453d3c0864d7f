"""An application that reports to Sentry, for a worker of its own."""

import asyncio
import logging

import sentry_sdk

from penstock import Backoff, Context, Fail, Penstock
from penstock.interop.sentry import report_to_sentry

# at SENTRY_DSN; those for every library that is installed here would take seconds to load
sentry_sdk.init(traces_sample_rate=1.0, auto_enabling_integrations=False)
app = Penstock()
report_to_sentry(app, retries=True, monitors=True)


@app.job(queue="billing", max_attempts=2, backoff=Backoff.constant(0))
async def charge(ctx: Context, customer: str, api_key: str, card: dict[str, str]) -> None:
    token_of_shop = api_key
    sentry_sdk.set_tag("customer", customer)
    sentry_sdk.add_breadcrumb(category="shop", message=f"asked the bank for {customer}")
    await asyncio.sleep(0)
    raise ConnectionError(f"no answer from https://shop:{token_of_shop}@bank.example/charge")


@app.job(max_attempts=1)
def in_thread(customer: str) -> None:
    sentry_sdk.set_tag("customer", customer)
    raise LookupError(customer)


@app.job(max_attempts=1, isolate=True)
def isolated(number: int) -> None:
    raise ArithmeticError(f"not {number}")


@app.job(max_attempts=1)
async def refuse(number: int) -> None:
    sentry_sdk.set_tag("refused", "yes")
    raise Fail(f"row {number} is empty")


@app.job(max_attempts=1, timeout=0.05)
async def hang() -> None:
    sentry_sdk.set_tag("hangs", "yes")
    await asyncio.Event().wait()


@app.job(max_attempts=1, batch=10)
async def together(numbers: list[int]) -> list[ValueError]:
    return [ValueError(f"one of {len(numbers)}") for _ in numbers]


@app.job
async def succeed() -> None:
    logging.getLogger("shop").error("of the handler's own")
    await follow.aenqueue()


@app.job
def follow() -> None: ...


@app.cron("0 0 1 1 *", tz="Europe/Berlin", max_attempts=1)
def yearly() -> None: ...
