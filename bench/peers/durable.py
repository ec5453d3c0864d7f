"""What the runners of `make bench-durable` have in common: `<runner> <url> <workflows> <parents> <events>` says its
figures as JSON, in one line."""

import asyncio
import json
import statistics
import sys
from collections.abc import Awaitable, Callable
from typing import NamedTuple

STEPS = 10
CHILDREN = 100


class Sizes(NamedTuple):
    workflows: int
    parents: int
    events: int


def median_ms(seconds: list[float]) -> float:
    return 1000 * statistics.median(seconds)


def run(measure: Callable[[str, Sizes], Awaitable[dict[str, float]]]) -> None:
    async def main() -> None:
        url, *sizes = sys.argv[1:]
        print(json.dumps(await measure(url, Sizes(*map(int, sizes)))), flush=True)

    asyncio.run(main())
