"""The job: a document becomes a PDF, a file with an expiry, and a line in its owner's history."""

import re
from datetime import UTC, datetime
from urllib.parse import quote
from uuid import UUID

from pydantic import ValidationError

from penstock import Artifact, Fail, StorageFull, StoreFault, SyncContext
from penstock_recipes.exports.faults import PagesFault, StorageFault, storage_words
from penstock_recipes.exports.resume import Resume
from penstock_recipes.exports.shapes import (
    INCH_WIDE,
    TOLD_BY_DOCUMENT,
    Choices,
    ColorMode,
    Margins,
    Metadata,
    PageSize,
    Quality,
    Template,
)

KEPT = 7 * 24 * 3600
"""Seconds that a file is kept."""
_LONGEST_NAME = 180
"""Bytes of a file's name as a store writes it."""


def export_pdf(
    ctx: SyncContext,
    document_id: UUID,
    document_version: int | None = None,  # noqa: ARG001, told so that an export of a later version is another job
    template: Template = "minimal",
    page_size: PageSize = "Letter",
    margins: Margins = INCH_WIDE,
    quality: Quality = "normal",
    color_mode: ColorMode = "color",
    metadata: Metadata = TOLD_BY_DOCUMENT,
) -> dict[str, object] | Fail:
    """Makes a PDF of a document of its owner's, as it is when the job begins."""
    from penstock_recipes.exports import pdf

    choices = Choices(
        template=template, page_size=page_size, margins=margins, quality=quality, color_mode=color_mode,
        metadata=metadata,
    )  # fmt: skip
    ctx.progress(0, "Starting")
    with ctx.transaction() as connection:
        found = connection.execute(
            "select title, data, version from exports.documents where id = %s and user_id = %s",
            [document_id, ctx.owner],
        ).fetchone()
    if found is None:
        return Fail("document not found")
    title, data, version = found
    try:
        resume = Resume.model_validate(data)
    except ValidationError as error:
        # written in SQL, past the API's checks
        return Fail(f"the document cannot be printed: {_first_problem(error)}")
    ctx.progress(25, "Document read")
    made_at = created_at(ctx.id)
    try:
        pages = pdf.set_pages(title, resume, choices, made_at)
        ctx.progress(50, "Pages set")
        rendered = pdf.finish(pages, choices)
    except Exception as error:
        raise PagesFault from error
    ctx.progress(75, "PDF made")
    try:
        artifact = _store(ctx, document_id, file_name(title), rendered.pdf)
    except StorageFull as error:
        return Fail(storage_words(error)[0])
    except (StoreFault, OSError) as error:
        raise StorageFault from error
    ctx.progress(90, "File stored")
    with ctx.transaction() as connection:
        row = connection.execute(
            """
            insert into exports.export_history (
              document_id, user_id, document_version, template_slug, file_name, file_path, file_size, page_count,
              expires_at, job_id, artifact_id)
            values (
              (select id from exports.documents where id = %s for key share), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            returning id
            """,
            [
                document_id, ctx.owner, version, template, artifact.name, artifact.path, artifact.size, rendered.pages,
                artifact.expires_at, ctx.id, artifact.id,
            ],
        ).fetchone()  # fmt: skip
    ctx.progress(100, "Completed")
    return {
        "historyId": str(row[0]) if row else None,
        "artifactId": str(artifact.id),
        "documentVersion": version,
        "fileSize": len(rendered.pdf),
        "pageCount": rendered.pages,
        "warnings": rendered.warnings,
    }


def _store(ctx: SyncContext, document_id: UUID, name: str, pdf: bytes) -> Artifact:
    """At {user}/{document}_{timestamp}.pdf, and never over another's: only a later run of the very same job may find
    its own file there, left by a run that was killed before it could record it."""
    return ctx.artifacts.put(
        name,
        pdf,
        type="pdf",
        content_type="application/pdf",
        expires_in=KEPT,
        path=f"{document_id}_{_timestamp(ctx.id)}.pdf",
        overwrite=ctx.job.claims > 1,
    )


def created_at(job: UUID) -> datetime:
    """When a job was enqueued: its id says so to the millisecond."""
    return datetime.fromtimestamp((job.int >> 80) / 1000, UTC)


def _timestamp(job: UUID) -> int:
    """The job's own moment in nanoseconds; below the millisecond, of which two jobs may have the same, by its id."""
    return (job.int >> 80) * 1_000_000 + job.int % 1_000_000


def file_name(title: str) -> str:
    """`{title}.pdf`, as far as it can be the name of a file."""
    name = re.sub(r"[\x00-\x1f\x7f-\x9f/\\]+", " ", title).strip(" .") or "resume"
    while len(quote(name, safe="")) > _LONGEST_NAME:
        name = name[:-1].rstrip(" .")
    return f"{name}.pdf"


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
