"""Who says in a sentence what a picture shows."""

from typing import Protocol

from penstock_recipes.bookmarks.pictures import Picture
from penstock_recipes.bookmarks.providers.captions.claude import ClaudeCaptioner
from penstock_recipes.bookmarks.providers.captions.offline import OfflineCaptioner

__all__ = ["Captioner", "ClaudeCaptioner", "OfflineCaptioner"]


class Captioner(Protocol):
    """`data` is the file as it was found, `text` the words that were read in it. What it raises is tried again."""

    async def caption(self, data: bytes, picture: Picture, text: str) -> str: ...
