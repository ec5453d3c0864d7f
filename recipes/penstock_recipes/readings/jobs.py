"""The reading as one flow: a calculation, sixteen documents as text, PDF and audio, and the book that joins them."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from uuid import UUID

import msgspec

from penstock import Backoff, Cancel, Context, Earlier, Fail, Flow, JobState, Penstock, WaitTimeout
from penstock_recipes.readings.book import print_book, print_chapter
from penstock_recipes.readings.chapters import CHAPTERS, Chapter
from penstock_recipes.readings.chart import Calculation, calculate
from penstock_recipes.readings.providers.text import GaveUp, TextProvider, Written
from penstock_recipes.readings.providers.voice import VoiceProvider, codec
from penstock_recipes.readings.shapes import SYSTEMS, Person, Systems

T = TypeVar("T")

KIND = "nuclear_v2"
Stage = Literal["calculation", "text", "pdf", "audio", "book"]
QUEUES: Mapping[Stage, str] = {
    "calculation": "readings",
    "text": "readings_text",
    "pdf": "readings_pdf",
    "audio": "readings_audio",
    "book": "readings",
}
PHASES = {
    "calculating": (0.0, 10.0),
    "text": (10.0, 50.0),
    "pdf": (50.0, 70.0),
    "approval": (70.0, 70.0),
    "audio": (70.0, 95.0),
}
APPROVED_WITHIN = 7 * 24 * 3600.0
"""Seconds in which somebody has to answer; no answer is a refusal."""
BACKOFF = Backoff.linear(5)
"""5 s after the first attempt, 10 s after the second; the third is the last."""


class Printed(msgspec.Struct, frozen=True):
    """What came of a chapter as a PDF."""

    path: str
    pages: int


class Permission(msgspec.Struct, frozen=True):
    """What was answered when somebody was asked whether to record."""

    approved: bool
    refusal: str = ""


class Spoken(msgspec.Struct, frozen=True):
    """What came of a chapter as sound."""

    path: str
    seconds: float


class Bound(msgspec.Struct, frozen=True):
    """What came of the whole."""

    chapters: int
    words: int
    pages: int
    seconds: float
    pdf: str
    json: str
    warnings: list[str] = []
    """Of what could not be printed as it was written."""


def add_flow(
    app: Penstock,
    text: TextProvider,
    voice: VoiceProvider,
    *,
    chapters: int = len(CHAPTERS),
    queues: Mapping[Stage, str] = QUEUES,
    backoff: Backoff = BACKOFF,
    max_attempts: int = 3,
    quota: str | None = None,
    kept: float | None = None,
    approve_recordings: bool = False,
) -> None:
    """Adds the flow and its handlers to an application; files are `kept` for so many seconds. With `approve_recordings`
    a person is asked before anything is recorded."""

    async def put(ctx: Context, name: str, data: bytes, **choices: Any) -> str:
        """Stores a file below the flow's folder, wherever in the flow it was made: the same path on every attempt."""
        whole: UUID = ctx.job.parent or ctx.id
        return (await ctx.artifacts.put(name, data, path=f"{whole}/{name}", expires_in=kept, **choices)).path

    @app.job(kind="calculation", queue=queues["calculation"], max_attempts=max_attempts, backoff=backoff, timeout=60)
    async def calculation(
        ctx: Context, person1: Person, person2: Person | None = None, systems: Systems = SYSTEMS
    ) -> Calculation:
        """The birth charts."""
        await ctx.progress(50, "Calculating the birth charts…")
        return await asyncio.to_thread(calculate, person1, person2, systems)

    @app.job(kind="text_generation", queue=queues["text"], max_attempts=max_attempts, backoff=backoff, timeout=600)
    async def text_generation(ctx: Context, chapter: int) -> Written | Fail:
        """The text of a chapter; it stays in the output for those who wait for it."""
        about = CHAPTERS[chapter - 1]
        await ctx.progress(message=f"Generating chapter: {about.title}…")
        [earlier] = await ctx.outputs()
        try:
            # nothing comes after it: completing the job is what remembers it, so it is paid for once
            return await text.write(about, msgspec.convert(earlier.output, Calculation))
        except GaveUp as error:
            return Fail(f"{about.title}: {error}")

    @app.job(kind="pdf_generation", queue=queues["pdf"], max_attempts=max_attempts, backoff=backoff, timeout=120)
    async def pdf_generation(ctx: Context, chapter: int) -> Printed:
        """A chapter as PDF/A, and what it is as JSON."""
        about = CHAPTERS[chapter - 1]
        await ctx.progress(message=f"Typesetting chapter: {about.title}…")
        charts, written = _read(await ctx.outputs())
        pdf = await asyncio.to_thread(print_chapter, about, written[chapter], charts, ctx.job.created_at.date())
        pages, _ = await asyncio.to_thread(_look_into, pdf)
        told = _metadata(about, written[chapter]) | {"pages": pages}
        printed = await put(ctx, f"pdf/chapter{chapter}.pdf", pdf, metadata=told | {"conformance": "PDF/A-2b"})
        whole = {**told, "sections": written[chapter].sections}
        await put(ctx, f"json/chapter{chapter}_metadata.json", msgspec.json.format(msgspec.json.encode(whole)))
        return Printed(printed, pages)

    @app.job(kind="recording_approval", queue=queues["book"], max_attempts=max_attempts, backoff=backoff, timeout=60)
    async def recording_approval(ctx: Context) -> Permission:
        """Asks a person whether the chapters are to be recorded, which may cost something."""
        _, written = _read(await ctx.outputs())
        told = {"chapters": len(written), "words": sum(text.words for text in written.values())}
        await ctx.progress(message="Waiting for somebody to approve the recordings…")
        question = f"Record {told['chapters']} chapters, {told['words']:,} words?"
        try:
            answer = await ctx.approve(question, details=told, timeout=APPROVED_WITHIN)
        except WaitTimeout:
            return Permission(False, "nobody approved the recordings in a week")
        if answer.approved:
            return Permission(True)
        return Permission(False, f"{answer.by} refused the recordings" + (f": {answer.comment}" * bool(answer.comment)))

    @app.job(kind="audio_generation", queue=queues["audio"], max_attempts=max_attempts, backoff=backoff, timeout=1800)
    async def audio_generation(ctx: Context, chapter: int) -> Spoken | Cancel:
        """A chapter read aloud."""
        about = CHAPTERS[chapter - 1]
        outputs = await ctx.outputs()
        if refusal := _refusal(outputs):
            return Cancel(refusal)
        await ctx.progress(message=f"Recording chapter: {about.title}…")
        _, written = _read(outputs)
        speech = await voice.speak(_spoken_text(about, written[chapter]))
        recording = await asyncio.to_thread(codec.encode, speech)
        seconds = round(speech.seconds, 2)
        path = await put(
            ctx,
            f"audio/chapter{chapter}.{recording.ending}",
            recording.data,
            type=recording.type,
            content_type=recording.content_type,
            duration=seconds,
            metadata={"chapter": chapter, "title": written[chapter].title, "bitRate": codec.BIT_RATE},
        )
        return Spoken(path, seconds)

    # unique: who clicks twice gets the reading that is under way
    @app.job(kind=KIND, queue=queues["book"], max_attempts=max_attempts, backoff=backoff, timeout=600, unique=True)
    async def bind(
        ctx: Context, person1: Person, person2: Person | None = None, systems: Systems = SYSTEMS
    ) -> Bound | Fail | Cancel:
        """The last step: the chapters as one book and one document. Of a book that would lack something there is none;
        what was made of the other chapters stays, and a retry makes only what is missing. One whose recordings were
        refused is there to be read, and the reading has ended as cancelled."""
        outputs = await ctx.outputs()
        if missing := [_lacking(each) for each in outputs if each.state is JobState.FAILED]:
            return Fail("; ".join(missing))
        await ctx.progress(95, "Binding the book…", phase="finalizing")
        charts, written = _read(outputs)
        book = [(CHAPTERS[number - 1], written[number]) for number in sorted(written)]
        pdf = await asyncio.to_thread(print_book, book, charts, ctx.job.created_at.date())
        await ctx.progress(97, "Storing the book…", phase="finalizing")
        path = await put(ctx, "pdf/full_nuclear.pdf", pdf, metadata={"conformance": "PDF/A-2b"})
        printed = _by_chapter(outputs, "pdf_generation", Printed)
        spoken = _by_chapter(outputs, "audio_generation", Spoken)
        told = [
            {
                **_metadata(about, text),
                "sections": text.sections,
                "pages": printed[about.number].pages,
                "pdf": printed[about.number].path,
                "audio": spoken[about.number].path if about.number in spoken else None,
                "duration": spoken[about.number].seconds if about.number in spoken else None,
            }
            for about, text in book
        ]
        params = {"person1": person1, "person2": person2, "systems": systems}
        whole = {"id": ctx.id, "type": KIND, "params": params, "calculation": charts, "chapters": told}
        document = await put(ctx, "json/full_nuclear.json", msgspec.json.format(msgspec.json.encode(whole)))
        if refusal := _refusal(outputs):
            return Cancel(f"{refusal}; what was written is kept")
        await ctx.progress(99, "The reading is ready", phase="finalizing")
        pages, warnings = await asyncio.to_thread(_look_into, pdf)
        words, seconds = sum(text.words for _, text in book), sum(each.seconds for each in spoken.values())
        return Bound(len(book), words, pages, round(seconds, 2), path, document, warnings)

    @app.flow(kind=KIND, users=True, quota=quota)
    def nuclear_v2(person1: Person, person2: Person | None = None, systems: Systems = SYSTEMS) -> Flow:
        """A reading for one person or two, in sixteen chapters: each as a PDF and as an MP3, and a book of them all."""
        # a chapter that fails is no reason to throw the others away
        phases = {name: range for name, range in PHASES.items() if approve_recordings or name != "approval"}
        flow = Flow(then=bind.prepare(person1, person2, systems), policy="continue", phases=phases)
        charts = flow.add(calculation.prepare(person1, person2, systems), phase="calculating", name="calculation")
        parts = {about.number: f"chapter{about.number}" for about in CHAPTERS[:chapters]}
        texts = {
            number: flow.add(text_generation.prepare(number), phase="text", after=[charts], part=part)
            for number, part in parts.items()
        }
        asked = []
        if approve_recordings:
            after = [charts, *texts.values()]
            asked = [flow.add(recording_approval.prepare(), phase="approval", after=after, name="approval")]
        for number, text in texts.items():
            part, after = parts[number], [charts, text]
            flow.add(pdf_generation.prepare(number), phase="pdf", after=after, part=part)
            flow.add(audio_generation.prepare(number), phase="audio", after=after + asked, part=part)
        return flow


def _read(outputs: list[Earlier]) -> tuple[Calculation, dict[int, Written]]:
    [charts] = [each.output for each in outputs if each.kind == "calculation"]
    return msgspec.convert(charts, Calculation), _by_chapter(outputs, "text_generation", Written)


def _by_chapter(outputs: list[Earlier], kind: str, type: type[T]) -> dict[int, T]:
    return {
        each.args["chapter"]: msgspec.convert(each.output, type)
        for each in outputs
        if each.kind == kind and each.state is JobState.SUCCEEDED
    }


def _refusal(outputs: list[Earlier]) -> str:
    """Why nothing is recorded; nothing where nobody was asked, or agreed."""
    answers = [msgspec.convert(each.output, Permission) for each in outputs if each.kind == "recording_approval"]
    return "".join(each.refusal for each in answers)


def _lacking(failed: Earlier) -> str:
    if failed.kind == "calculation":
        return "the birth charts could not be calculated"
    if failed.kind == "recording_approval":
        return "nobody could be asked to approve the recordings"
    done = {"text_generation": "written", "pdf_generation": "printed", "audio_generation": "recorded"}[failed.kind]
    return f"chapter {failed.args['chapter']}, {CHAPTERS[failed.args['chapter'] - 1].title}, could not be {done}"


def _metadata(about: Chapter, written: Written) -> dict[str, Any]:
    return {
        "chapter": about.number,
        "title": written.title,
        "theme": about.theme,
        "bodies": list(about.bodies),
        "words": written.words,
        "writer": written.writer,
    }


def _spoken_text(about: Chapter, written: Written) -> list[str]:
    paragraphs = [f"Chapter {about.number}. {written.title}."]
    for section in written.sections:
        paragraphs += [f"{section.heading}."] if section.heading else []
        paragraphs += section.paragraphs
    return paragraphs


def _look_into(pdf: bytes) -> tuple[int, list[str]]:
    """How many pages there are, and what could not be printed on them."""
    import io

    import pikepdf

    from penstock_recipes.fonts.boxes import warnings_about

    with pikepdf.open(io.BytesIO(pdf)) as opened:
        return len(opened.pages), warnings_about(opened)
