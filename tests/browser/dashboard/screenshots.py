"""`make screenshots`: every page in both themes, and at the width of a phone, into .screenshots; and the dashboard as
README and documentation show it, into docs/assets."""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.async_api import Browser, async_playwright

from tests.browser.dashboard.scene import Scene, scene
from tests.kit.browser import DESK, PHONE, ROOT, chromium
from tests.kit.serving import KEY

if TYPE_CHECKING:
    from playwright.async_api import ViewportSize

FOLDER = ROOT / ".screenshots"
ASSETS = ROOT / "docs" / "assets"
SHOWN: "ViewportSize" = {"width": 1280, "height": 800}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def pages(shown: Scene) -> dict[str, str]:
    """By the name of their picture."""
    return {
        "overview": "/",
        "jobs": "/jobs",
        "jobs-failed": "/jobs?state=failed",
        "job-failed": f"/jobs/{shown.failed}",
        "job-running": f"/jobs/{shown.running}",
        "job-succeeded": f"/jobs/{shown.succeeded}",
        "job-flow": f"/jobs/{shown.flow}",
        "queues": "/queues",
        "queue": "/queues/mail",
        "change": "/jobs/change?action=cancel&queue=imports",
        "flow": f"/flows/{shown.flow}",
        "flow-wide": f"/flows/{shown.reading}",
        "job-waits": f"/jobs/{shown.waiting}",
        "operation": f"/operations/{shown.operation}",
        "workers": "/workers",
        "schedules": "/schedules",
        "approvals": "/approvals",
        "errors": "/errors",
        "usage": "/usage",
        "audit": "/audit",
        "missing": "/jobs/0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f",
    }


async def take(browser: Browser, shown: Scene, only: str = "") -> None:
    for theme in THEMES:
        for width, viewport in (("desk", DESK), ("phone", PHONE)):
            context = await browser.new_context(
                viewport=viewport,
                color_scheme=theme,
                base_url=shown.address,
                device_scale_factor=2 if width == "phone" else 1,
            )
            tab = await context.new_page()
            await tab.goto("/login")
            await tab.screenshot(path=FOLDER / f"login-{theme}-{width}.png")
            await tab.fill("#credential", KEY)
            await tab.click("button")
            for name, path in pages(shown).items():
                if only in name:
                    await tab.goto(path)
                    await tab.wait_for_timeout(300)
                    await tab.screenshot(path=FOLDER / f"{name}-{theme}-{width}.png", full_page=True)
            await context.close()


async def take_for_readme(browser: Browser, shown: Scene) -> None:
    """The first screen of the overview, as a browser of this size has it."""
    for theme in THEMES:
        context = await browser.new_context(viewport=SHOWN, color_scheme=theme, base_url=shown.address)
        tab = await context.new_page()
        await tab.goto("/login")
        await tab.fill("#credential", KEY)
        await tab.click("button")
        await tab.locator("penstock-live[data-state=live]").wait_for()
        await tab.locator("penstock-chart svg").nth(2).wait_for()
        await tab.screenshot(path=ASSETS / f"dashboard-{theme}.png")
        await context.close()


async def main() -> None:
    os.environ.pop("DATABASE_URL", None)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory(prefix="penstock-screenshots") as place:
        async with async_playwright() as playwright, scene(None, Path(place), many=400) as shown:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            await take(browser, shown, *sys.argv[1:2])
            if not sys.argv[1:] or sys.argv[1] == "readme":
                await take_for_readme(browser, shown)
            await browser.close()
    print(f"{len(list(FOLDER.iterdir()))} pictures in {FOLDER}")


if __name__ == "__main__":
    asyncio.run(main())
