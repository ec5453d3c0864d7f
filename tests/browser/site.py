"""An application whose jobs go on when a test lets them, served with a worker, for all tests of a run."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock import Backoff, Context, Fail, Penstock
from penstock.server.auth import mint
from tests.kit.serving import SECRET, Served, served
from tests.kit.wire import Wire, wire_to
from tests.kit.working import working

PAGES = Path(__file__).parent / "pages"


@dataclass
class Site:
    served: Served
    wire: Wire
    """Another way to the same server."""
    steps: dict[str, asyncio.Semaphore]

    @property
    def address(self) -> str:
        return self.served.address

    def let(self, name: str, steps: int = 1) -> None:
        """Lets the climber of this name go so many steps further."""
        for _ in range(steps):
            self.steps[name].release()


def make_app(url: str, files: Path, steps: dict[str, asyncio.Semaphore]) -> Penstock:
    app = Penstock(url, artifacts=files)
    app.add_page("/try", PAGES / "try", title="To be tried")

    @app.job(users=True, max_attempts=3, backoff=Backoff.constant(0.01))
    async def climb(
        ctx: Context, name: str, steps_to_go: int = 2, fail: str = "", stumble: bool = False
    ) -> dict[str, str]:
        """Waits before each step until it is let go."""
        for step in range(steps_to_go):
            await ctx.progress(done=step, total=steps_to_go, message=f"Step {step + 1}", phase="up")
            await steps[name].acquire()
        if stumble and ctx.job.attempt == 1:
            raise RuntimeError("stumbled")
        if fail:
            return Fail(fail)  # type: ignore[return-value]
        await ctx.artifacts.put("view.txt", b"far and wide")
        return {"view": "far and wide"}

    return app


@asynccontextmanager
async def site(url: str, files: Path) -> AsyncIterator[Site]:
    steps: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
    async with (
        make_app(url, files, steps) as app,
        served(app) as server,
        working(app, {"default": 20}),
        wire_to(server.port) as wire,
    ):
        yield Site(server, wire, steps)


def token(subject: str = "ada") -> str:
    return mint(SECRET, subject=subject)
