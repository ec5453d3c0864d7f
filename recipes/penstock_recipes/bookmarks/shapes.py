"""What goes over the wire."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from penstock_recipes.body import Body
from penstock_recipes.bookmarks.consumer import MOST
from penstock_recipes.storable import StorableText

PREFIX = "/api/v1/bookmarks"
LARGEST = 2**63 - 1


Id = Annotated[int, Field(ge=1, le=LARGEST)]
Address = Annotated[
    StorableText, Field(pattern=r"^https?://[^/\s]\S*$", max_length=2048, examples=["https://example.com"])
]
UserId = Annotated[StorableText, Field(min_length=1, max_length=500)]


class NewBookmark(Body):
    url: Address = Field(description="http or https, and nowhere that is private.")
    category_id: Id | None = None
    update_access: bool = Field(
        default=True, description="Whether you may put bookmarks into that category; without, it is in none."
    )
    fav_icon: Address | None = Field(default=None, description="Where its icon is, if you know.")
    user_id: UserId | None = Field(default=None, description="Whose it is to be; for the service only.")


class Picture(Body):
    width: int
    height: int


class MetaData(Body):
    """What was found out; a field that has nothing to tell is left out."""

    width: int | None = None
    height: int | None = None
    blurhash: str | None = None
    ocr: str | None = Field(default=None, description="The text in the picture.")
    img_caption: str | None = None
    screenshot: Picture | None = None
    is_pdf: bool | None = None
    pages: int | None = None
    og_image_error: str | None = Field(default=None, description="Why there is no picture, though the page names one.")
    fav_icon_error: str | None = None


class StoredBookmark(Body):
    """`screenshot`, `og_image` and `fav_icon` are links that work for an hour, once there is something to see."""

    id: int
    user_id: str
    url: str
    title: str | None
    description: str | None
    category_id: int | None
    screenshot: str | None
    og_image: str | None
    fav_icon: str | None
    meta_data: MetaData
    job_id: UUID | None = Field(description="What enriches it: `/api/jobs/{job_id}/stream` tells when it is done.")
    inserted_at: datetime
    updated_at: datetime


class Bookmarks(Body):
    bookmarks: list[StoredBookmark]
    next_cursor: int | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class CamelShape(Body):
    model_config = ConfigDict(alias_generator=to_camel)


class Task(CamelShape):
    id: Id
    url: Address = Field(description="The bookmark's own.")
    user_id: UserId = Field(description="Whose bookmark it is.")


class ScreenshotTask(Task):
    """Which bookmark to take a screenshot of."""


class RemainingTask(Task):
    """Which bookmark to find out the rest about."""

    fav_icon: Address | None = None


class ArchiveTask(CamelShape):
    """Which message to take out of the queue."""

    message_id: Id


class Archived(CamelShape):
    message_id: int
    archived: Literal[True]


class MessageResult(CamelShape):
    """What came of a message. A field that has nothing to tell is left out."""

    message_id: int
    bookmark_id: int | SkipJsonSchema[None] = Field(default=None, description="Left out if the message names none.")
    success: bool
    archived: bool
    screenshot_success: bool | SkipJsonSchema[None] = Field(
        default=None, description="True for an image too, which needs none."
    )
    remaining_data_success: bool | SkipJsonSchema[None] = None
    error: str | SkipJsonSchema[None] = Field(default=None, examples=["Screenshot: Network timeout"])


class Consumed(CamelShape):
    success: Literal[True]
    message: Literal["Queue processing completed"]
    processed_count: int = Field(description="Messages that were read.")
    archived_count: int = Field(description="Those that are done.")
    failed_count: int = Field(description="Those that stay in the queue.")
    results: list[MessageResult] = Field(max_length=MOST)
