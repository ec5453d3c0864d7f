"""`make recording`: a flow runs, and the dashboard is filmed while it does. Nothing is played: the jobs are real, and
so is their time. Writes docs/assets/recording-light.webp and -dark.webp, which README and documentation show."""

import asyncio
import io
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.async_api import Error, Page, async_playwright

from penstock import Context, Flow, Penstock
from tests.browser.dashboard.scene import remember
from tests.kit.browser import ROOT, chromium
from tests.kit.serving import KEY, served
from tests.kit.working import working

ASSETS = ROOT / "docs" / "assets"
WIDTH, HEIGHT = 1240, 760
MOST_BYTES = 1_500_000
LONGEST = 1.2
"""Seconds that one picture stays: what nobody can see changing is not waited for."""
CHAPTERS = ("Loomings", "The Carpet-Bag", "The Spouter-Inn", "The Street")


def make_app(folder: Path) -> Penstock:
    app = Penstock(folder=folder)

    @app.job(queue="mail")
    async def send_mail(to: int) -> None:
        await asyncio.sleep(0.05 + to % 7 / 40)

    @app.job(queue="audio")
    async def fetch_text(title: str) -> str:
        await asyncio.sleep(0.7)
        return title

    @app.job(queue="audio")
    async def narrate(ctx: Context, chapter: int) -> int:
        steps = 5 + chapter % 3
        for step in range(steps):
            await ctx.progress(done=step, total=steps, message=f"Paragraph {step + 1} of {steps}")
            await asyncio.sleep(0.42 + chapter % 4 * 0.06)
        return steps

    @app.job(queue="audio")
    async def level(chapter: int) -> None:
        await asyncio.sleep(0.8 + chapter % 2 * 0.4)

    @app.job(queue="audio")
    async def join(title: str) -> str:
        await asyncio.sleep(1.2)
        return title

    @app.job(queue="audio")
    async def publish(title: str) -> str:
        await asyncio.sleep(1.0)
        return f"{title}.m4b"

    return app


def audiobook(app: Penstock, title: str) -> Flow:
    flow = Flow(then=app.handler("publish").prepare(title=title))
    text = flow.add(app.handler("fetch_text").prepare(title=title), name="The text")
    levelled = []
    for number, chapter in enumerate(CHAPTERS, 1):
        spoken = flow.add(app.handler("narrate").prepare(chapter=number), after=[text], name=chapter)
        levelled.append(flow.add(app.handler("level").prepare(chapter=number), after=[spoken]))
    flow.add(app.handler("join").prepare(title=title), after=levelled)
    return flow


class Camera:
    """Takes pictures of a tab as fast as it can, each with the time at which it was taken."""

    def __init__(self, tab: Page) -> None:
        self._tab = tab
        self._taken: list[tuple[float, Image.Image]] = []

    @asynccontextmanager
    async def rolling(self) -> AsyncIterator[None]:
        filming = asyncio.create_task(self._film())
        try:
            yield
        finally:
            filming.cancel()
            with suppress(asyncio.CancelledError):
                await filming

    async def _film(self) -> None:
        while True:
            with suppress(Error):  # between two pages there is nothing to take a picture of
                picture = await self._tab.screenshot()
                self._taken.append((time.monotonic(), Image.open(io.BytesIO(picture)).convert("RGB")))
            await asyncio.sleep(0.04)

    def write(self, path: Path) -> int:
        """One picture for as long as nothing changes; how many there are."""
        kept: list[tuple[float, Image.Image]] = []
        for at, picture in self._taken:
            if not kept or picture.tobytes() != kept[-1][1].tobytes():
                kept.append((at, picture))
        ends = [at for at, _ in kept[1:]] + [kept[-1][0] + 2 * LONGEST]
        durations = [round(1000 * min(end - at, LONGEST)) for (at, _), end in zip(kept, ends, strict=True)]
        durations[-1] = round(2000 * LONGEST)
        first, *rest = (picture for _, picture in kept)
        first.save(path, save_all=True, append_images=rest, duration=durations, loop=0, quality=72, method=4)
        return len(kept)


async def story(tab: Page, app: Penstock) -> None:
    """The overview while mail goes out; then a flow from its first step to its last."""
    await tab.wait_for_timeout(900)
    mail = app.handler("send_mail")
    await mail.aenqueue_many([{"to": number} for number in range(500)])
    await tab.wait_for_timeout(2600)
    flow = await app.aenqueue(audiobook(app, "Moby-Dick"))
    await tab.goto(f"/flows/{flow.id}")
    await flow.aresult(timeout=120)
    await tab.locator("h1").get_by_text("succeeded").wait_for()
    await tab.wait_for_timeout(1500)
    await tab.goto(f"/jobs/{flow.id}")
    await tab.wait_for_timeout(1200)


async def record(theme: Literal["light", "dark"]) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-recording") as place:
        async with make_app(Path(place)) as app:
            await asyncio.to_thread(app.migrate)
            async with (
                served(app) as server,
                working(app, {"mail": 24, "audio": 4}, name="worker-1"),
                async_playwright() as playwright,
            ):
                await remember(app)
                browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
                context = await browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme, base_url=server.address
                )
                tab = await context.new_page()
                await tab.goto("/login")
                await tab.fill("#credential", KEY)
                await tab.click("button")
                await tab.locator("penstock-chart svg, .chart svg").first.wait_for()
                await tab.get_by_text("live", exact=True).wait_for()
                camera = Camera(tab)
                async with camera.rolling():
                    await story(tab, app)
                await browser.close()
    path = ASSETS / f"recording-{theme}.webp"
    pictures = camera.write(path)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {pictures} pictures, {size / 1000:,.0f} kB")
    if size > MOST_BYTES:
        raise SystemExit(f"it is too large for a README: more than {MOST_BYTES / 1000:,.0f} kB")


async def main() -> None:
    os.environ.pop("DATABASE_URL", None)
    for theme in ("light", "dark"):
        if theme.startswith(tuple(sys.argv[1:]) or ""):
            await record(theme)


if __name__ == "__main__":
    asyncio.run(main())
