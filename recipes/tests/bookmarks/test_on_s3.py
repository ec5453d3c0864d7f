"""The whole path with files in a real S3 store."""

from uuid import uuid4

import httpx

from bookmarks.asking import serving
from bookmarks.sites import Site, card
from penstock import Penstock
from penstock_recipes.bookmarks import install
from tests.storage.conftest import seaweed  # noqa: F401
from tests.storage.seaweed import Seaweed


async def test_the_whole_path_works_on_s3(url: str, seaweed: Seaweed, site: Site) -> None:  # noqa: F811
    async with Penstock(url, artifacts=seaweed.address(uuid4().hex)) as app:
        install(app, allow=["127.0.0.1"])
        async with serving(app) as bookmarks, httpx.AsyncClient() as anybody:
            ada = bookmarks.user("ada")
            id = await ada.add(site.at("/card.png"), fav_icon=site.at("/icon.png"))
            assert (await bookmarks.service.consume())["archivedCount"] == 1
            found = await ada.bookmark(id)
            assert found["og_image"].startswith(seaweed.endpoint), "the store's own link"
            fetched = await anybody.get(found["og_image"])
            assert (fetched.status_code, fetched.headers["content-type"]) == (200, "image/png")
            assert fetched.content == card()
            assert (await ada.delete(f"/{id}")).status_code == 204
            for name in ("og_image", "fav_icon"):
                assert (await anybody.get(found[name])).status_code == 404
