"""What goes over the wire, and how an export is to look: the values a request may choose, as the job carries them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta
from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from penstock_recipes.body import Body, FewFields
from penstock_recipes.exports.resume import Name, Resume

Template = Literal["minimal", "classic", "modern"]
PageSize = Literal["A4", "Letter", "Legal"]
Quality = Literal["draft", "normal", "high"]
ColorMode = Literal["color", "grayscale"]

LEAST, MOST = 0.2, 2
"""Inches. With less than that the accents of a name are cut off at the top of the page."""
# said twice: to the API's checks, and to those of the job, which can be started without the API
Inches = Annotated[float, Meta(ge=LEAST, le=MOST), Field(ge=LEAST, le=MOST)]
Words = Annotated[str, Meta(max_length=500), StringConstraints(max_length=500)]
Keywords = Annotated[list[Words], Meta(max_length=50), Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class Margins:
    __pydantic_config__ = ConfigDict(extra="forbid")

    top: Inches = 1.0
    bottom: Inches = 1.0
    left: Inches = 1.0
    right: Inches = 1.0


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a PDF says about itself. What is not given is told by the document."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    title: Words | None = None
    author: Words | None = None
    subject: Words | None = None
    keywords: Keywords | None = None
    creator: Words | None = None


INCH_WIDE = Margins()
TOLD_BY_DOCUMENT = Metadata()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    template: Template = "minimal"
    page_size: PageSize = "Letter"
    margins: Margins = INCH_WIDE
    quality: Quality = "normal"
    color_mode: ColorMode = "color"
    metadata: Metadata = TOLD_BY_DOCUMENT


LARGEST_BATCH = 10
"""Documents."""
Status = Literal["pending", "processing", "completed", "failed", "cancelled"]
BatchStatus = Literal["processing", "completed", "failed", "cancelled"]


class Shape(Body):
    """Names are camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class NewDocument(Shape):
    title: Name = Field(examples=["Ada's résumé"])
    data: Resume
    user_id: Name | None = Field(default=None, description="Whose it is to be; for the service only.")


class Changes(Shape):
    title: Name | None = None
    data: Resume | None = None
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="Changes only this version: 409 when there is another by now."
    )


class Summary(Shape):
    id: UUID
    title: str
    version: int
    created_at: datetime
    updated_at: datetime


class Document(Summary):
    data: dict[str, Any]


class Documents(Shape):
    documents: list[Summary]
    next_cursor: UUID | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class Options(Shape):
    """How the PDF is to look."""

    template_slug: Template | None = Field(default=None, description="As beside the options.")
    page_size: PageSize = "Letter"
    margins: Annotated[Margins, FewFields] = Field(default=Margins(), description="In inches.")
    quality: Quality = Field(
        default="normal", description="`draft` is small and fast, `high` hyphenates and is PDF/A-2u where it can be."
    )
    color_mode: ColorMode = "color"
    metadata: Annotated[Metadata, FewFields] = Field(
        default=Metadata(), description="What the document does not say better."
    )

    def as_params(self, document: UUID, version: int, template: Template | None) -> dict[str, Any]:
        """A job's arguments, all of them: two requests for the same are the same. Of a document that was changed
        meanwhile it is another, if the first has begun: it may have read it already."""
        return {
            "document_id": str(document),
            "document_version": version,
            "template": template or self.template_slug or "minimal",
            "page_size": self.page_size,
            "margins": msgspec.to_builtins(self.margins),
            "quality": self.quality,
            "color_mode": self.color_mode,
            "metadata": msgspec.to_builtins(self.metadata),
        }


class ExportRequest(Shape):
    document_id: UUID
    template_slug: Template | None = Field(default=None, description="`minimal` unless given.")
    options: Options = Options()


class StartedExport(Shape):
    job_id: UUID
    created: bool = Field(
        description="False when an unfinished export of the same document and options stands for it: one that "
        "has begun, if the document has not changed since."
    )


class ExportJob(Shape):
    id: UUID
    status: Status
    progress: float = Field(ge=0, le=100)
    result_url: str | None = Field(description="Where to fetch the file, for an hour.")
    error: str | None = Field(description="Why it failed; while it is pending, why the last attempt did.")
    message: str | None = Field(description="What it is at, or when it is tried again.")
    document_id: UUID
    document_version: int | None = Field(description="The version that was printed.")
    history_id: UUID | None
    file_size: int | None
    page_count: int | None
    warnings: list[str] = Field(
        description="What could not be printed as it was written, such as a script that no font here has."
    )
    attempts: int
    max_attempts: int
    run_after: datetime = Field(description="When it may begin, or begin again.")
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class Message(Shape):
    message: str = Field(examples=["Job cancelled"])


class BatchRequest(Shape):
    document_ids: list[UUID] = Field(
        min_length=1, max_length=LARGEST_BATCH, description="One PDF is made of each, once."
    )
    template_slug: Template | None = None
    options: Options = Options()


class BatchItem(Shape):
    job_id: UUID
    document_id: UUID


class StartedBatch(Shape):
    batch_id: UUID
    jobs: list[BatchItem]


class BatchJob(BatchItem):
    status: Status
    progress: float = Field(ge=0, le=100)
    error: str | None = Field(description="Why it failed; while it is pending, why the last attempt did.")
    message: str | None = Field(description="What it is at, or when it is tried again.")
    run_after: datetime = Field(description="When it may begin, or begin again.")


class Batch(Shape):
    batch_id: UUID
    status: BatchStatus = Field(
        description="Processing while anything is left to do; then completed, when one of its exports is, else failed, "
        "or cancelled when all of them are."
    )
    progress: float = Field(ge=0, le=100, description="How many of its exports are completed, in percent.")
    completed_count: int
    failed_count: int
    cancelled_count: int
    total_count: int
    jobs: list[BatchJob]


class Partial(Shape):
    message: str = Field(examples=["Batch partially complete"])
    completed_count: int = Field(examples=[3])
    total_count: int = Field(examples=[5])
    completed_jobs: list[UUID]


class Export(Shape):
    id: UUID
    job_id: UUID
    document_id: UUID | None = Field(description="Null when the document has been deleted since.")
    document_version: int
    format: Literal["pdf"]
    template_slug: str
    file_name: str = Field(examples=["Ada's résumé.pdf"])
    file_path: str
    file_size: int
    page_count: int
    download_count: int
    expires_at: datetime
    created_at: datetime


class History(Shape):
    exports: list[Export]
    next_cursor: UUID | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class DownloadLink(Shape):
    url: str
    expires_at: datetime


class Cleaned(Shape):
    deleted_count: int
