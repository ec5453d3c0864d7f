"""docs/guides/web.md: its files together are the page that it tells of."""

import asyncio
import runpy
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI
from playwright.async_api import Page, expect

from penstock import Penstock
from tests.browser.site import token
from tests.kit import node
from tests.kit.browser import IN_A_BROWSER, ROOT
from tests.kit.serving import KEY, SECRET, open_port, served
from tests.kit.working import working
from tests.run_document import blocks

pytestmark = IN_A_BROWSER
GUIDE = ROOT / "docs" / "guides" / "web.md"


@pytest.fixture
def shop(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Penstock:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("PENSTOCK_ARTIFACTS", str(tmp_path / "files"))
    (tmp_path / "page").mkdir()
    for block in blocks(GUIDE):
        if block.title:
            (tmp_path / block.title).write_text(block.code)
    app: Penstock = runpy.run_path(str(tmp_path / "shop.py"))["app"]
    return app


@asynccontextmanager
async def mounted(app: Penstock) -> AsyncIterator[str]:
    """In another application, which is mounted below a path itself."""
    outer = FastAPI()
    outer.mount("/queue", app.asgi(service_key=KEY, jwt_secret=SECRET))
    with open_port() as listening:
        program = uvicorn.Server(uvicorn.Config(outer, lifespan="off", log_level="warning"))
        running = asyncio.create_task(program.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/queue"
        finally:
            program.should_exit = True
            await running


async def test_the_page_of_the_guide_does_what_it_says(tab: Page, shop: Penstock) -> None:
    async with shop, served(shop) as server, working(shop):
        await tab.add_init_script(f"sessionStorage.setItem('penstock.token', '{token()}')")
        await tab.goto(f"{server.address}/shop")
        await tab.get_by_role("button", name="Export").click()
        await expect(tab).to_have_title("Done: document.txt")
        await expect(tab.get_by_role("link", name="document.txt")).to_be_visible()
        made = await tab.evaluate("""async () => {
          const [{ start }, { follow }] = await Promise.all([import("/penstock.js"), import("/shop/follow.js")]);
          const { id } = await start("export", { document_id: "d2" });
          return follow(id, () => {});
        }""")  # fmt: skip
        assert set(made) == {"artifact"}


async def test_it_does_so_wherever_it_is_mounted(tab: Page, shop: Penstock) -> None:
    async with shop, mounted(shop) as address, working(shop):
        await tab.add_init_script(f"sessionStorage.setItem('penstock.token', '{token()}')")
        await tab.goto(f"{address}/shop")
        await tab.get_by_role("button", name="Export").click()
        await expect(tab).to_have_title("Done: document.txt")


FRAMEWORKS = ("react", "vue")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's components with React and Vue themselves, from npm, in a file each; only the server's address is
    another."""
    room, out = tmp_path_factory.mktemp("components"), tmp_path_factory.mktemp("bundles")
    for block in blocks(GUIDE):
        if block.title in ("Export.jsx", "Export.vue"):
            (room / block.title).write_text(block.code)
    await node.run(Path(__file__).parent / "pages" / "bundle.mjs", room, OUT=str(out))
    for name in FRAMEWORKS:
        bundle = out / f"{name}.js"
        bundle.write_text(bundle.read_text().replace("https://jobs.example.com/", "../"))
        (out / f"{name}.html").write_text(
            f'<!doctype html><title>{name}</title><div id="here"></div><script type="module" src="{name}.js"></script>'
        )
    return out


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_components_of_the_guide_show_a_job_and_what_it_made(
    tab: Page, shop: Penstock, bundles: Path, tmp_path: Path, framework: str
) -> None:
    shutil.copytree(bundles, tmp_path / "page", dirs_exist_ok=True)
    async with shop, served(shop) as server, working(shop):
        await tab.route("**/session/token", lambda route: route.fulfill(body=token()))
        await tab.goto(f"{server.address}/shop/{framework}.html")
        await tab.get_by_role("button", name="Export").click()
        await expect(tab.locator("penstock-progress")).to_have_attribute("data-state", "succeeded")
        await expect(tab.locator("#here > a")).to_have_text("document.txt")
