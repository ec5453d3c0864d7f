"""An application for `penstock worker`, to be killed: its texts take a moment."""

import asyncio
import os

from penstock import Backoff
from penstock_recipes.readings import Calculation, Chapter, Written, make_app
from readings.people import ShortWriter


class SlowWriter(ShortWriter):
    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        await asyncio.sleep(0.3)
        return await super().write(chapter, calculation)


app = make_app(
    os.environ["DATABASE_URL"],
    artifacts=os.environ["PENSTOCK_ARTIFACTS"],
    chapters=4,
    text=SlowWriter(),
    backoff=Backoff.constant(0.01),
)
