"""Making the PDF: typst sets it, pikepdf finishes it and counts its pages."""

import json
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import as_file, files
from io import BytesIO

import pikepdf
import typst

from penstock_recipes import fonts
from penstock_recipes.exports.layout import as_printed
from penstock_recipes.exports.resume import Resume
from penstock_recipes.exports.shapes import Choices
from penstock_recipes.fonts.boxes import warnings_about

CREATOR = "Penstock exports"
_PAPERS = {"A4": "a4", "Letter": "us-letter", "Legal": "us-legal"}


@dataclass(frozen=True, slots=True)
class Rendered:
    pdf: bytes
    pages: int
    warnings: list[str]
    """Of what could not be printed as it was written."""


def set_pages(title: str, resume: Resume, choices: Choices, made_at: datetime) -> bytes:
    """The PDF as typst makes it, with bytes that depend on nothing but the arguments."""
    printed = json.dumps(as_printed(resume), ensure_ascii=False)
    language, _, region = resume.language.partition("-")
    inputs = {
        "resume": printed,
        "choices": json.dumps(
            {
                "paper": _PAPERS[choices.page_size],
                "margins": {side: getattr(choices.margins, side) for side in ("top", "bottom", "left", "right")},
                "grayscale": choices.color_mode == "grayscale",
                "lang": language,
                "region": region or None,
                # a draft is set line by line; otherwise paragraphs as a whole
                "linebreaks": "simple" if choices.quality == "draft" else "optimized",
                "hyphenate": choices.quality == "high",
                "families": fonts.families(),
                "fallbacks": fonts.fallbacks(resume.language, printed),
                "metadata": _metadata(title, resume, choices),
            }
        ),
    }
    with as_file(files(__package__) / "templates") as folder:

        def compile(*, archival: bool = False) -> bytes:
            return typst.compile(
                str(folder / f"{choices.template}.typ"),
                root=str(folder),
                font_paths=fonts.installed(),
                format="pdf",
                sys_inputs=inputs,
                pdf_standards=["a-2u"] if archival else [],
                timestamp=int(made_at.timestamp()),
            )

        if choices.quality == "high":
            try:
                return compile(archival=True)
            except typst.TypstError:
                # something in the text is not allowed there, such as a character for private use
                return compile()
        return compile()


def finish(pdf: bytes, choices: Choices) -> Rendered:
    """Says who created it, which typst cannot, and takes from a draft what only readers' aids and archives need."""
    creator = choices.metadata.creator or CREATOR
    with pikepdf.open(BytesIO(pdf)) as document:
        warnings = warnings_about(document)
        draft = choices.quality == "draft"
        if draft:
            for name in ("/StructTreeRoot", "/MarkInfo", "/Outlines", "/PageMode"):
                if name in document.Root:
                    del document.Root[name]
            for page in document.pages:
                if "/StructParents" in page:
                    del page["/StructParents"]
            document.remove_unreferenced_resources()
        document.docinfo["/Creator"] = creator
        with document.open_metadata(set_pikepdf_as_editor=False) as metadata:
            metadata["xmp:CreatorTool"] = creator
        out = BytesIO()
        document.save(
            out,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            compress_streams=True,
            recompress_flate=draft,
            deterministic_id=True,
        )
        return Rendered(out.getvalue(), len(document.pages), warnings)


def render(title: str, resume: Resume, choices: Choices, made_at: datetime) -> Rendered:
    return finish(set_pages(title, resume, choices, made_at), choices)


def _metadata(title: str, resume: Resume, choices: Choices) -> dict[str, object]:
    chosen = choices.metadata
    skills = [item for group in resume.skills for item in group.items]
    return {
        "title": chosen.title or title,
        "author": chosen.author or resume.profile.name,
        "subject": chosen.subject or "Resume",
        "keywords": skills[:50] if chosen.keywords is None else chosen.keywords,
    }
