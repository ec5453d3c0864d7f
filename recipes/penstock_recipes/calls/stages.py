"""The four stages of a call. Each can be run again at any moment: it finds what it made before, and goes on from there.

A stage stores its file at the call's own path, removes what that has made obsolete, and tells the database: in the
transaction that completes its job, or before where jobs are elsewhere. The stored file is what counts: a worker may be
killed between any two of these.
"""

import logging
import os
from collections.abc import Awaitable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import msgspec

from penstock import Cancel, Context, Fail, Penstock, Snooze, WaitTimeout
from penstock.sandbox import work_folder
from penstock_recipes.calls.audio import extract_audio, to_ogg_opus
from penstock_recipes.calls.decoder import NoAudio
from penstock_recipes.calls.providers.analysis import AnalysisFailed, Analyst
from penstock_recipes.calls.providers.transcription import (
    CallingTranscriber,
    Transcriber,
    Transcript,
    TranscriptionFailed,
)
from penstock_recipes.calls.store import WHILE_IT_TAKES, Call, CallFiles, Deleted, File, Full, Gone, record

log = logging.getLogger(__name__)

T = TypeVar("T")
FOLDER = "penstock-call"
ABANDONED = 2 * 3600
"""Seconds; twice as long as any stage may take. Somebody's recording may have been left there."""
TRANSCRIBED = "transcribed"
"""The event that a transcriber's call is."""
SIGNED_BY = "SPEECHKIT"
"""Calls must be signed, as Standard Webhooks, where PENSTOCK_CALLBACK_SECRET_SPEECHKIT is set."""
_JSON = "application/json"


class Extracted(msgspec.Struct, frozen=True, rename="camel"):
    """What came of `extract_audio`."""

    audio_path: str
    seconds: float
    channels: int
    rate: int


class Started(msgspec.Struct, frozen=True, rename="camel"):
    """What came of `transcribe_start`, and what `transcribe_poll` goes by."""

    operation_id: str | None
    audio_path: str
    ogg_path: str | None


class Transcribed(msgspec.Struct, frozen=True, rename="camel"):
    """What came of `transcribe_poll`."""

    transcript_path: str


class Analyzed(msgspec.Struct, frozen=True, rename="camel"):
    """What came of `analyze`."""

    analysis_path: str


class Stages:
    def __init__(
        self,
        app: Penstock,
        transcriber: Transcriber,
        analyst: Analyst,
        poll_interval: float,
        webhook_timeout: float | None = None,
        max_org_bytes: int | None = None,
    ) -> None:
        self._app = app
        self._files = CallFiles(app, max_org_bytes)
        self._transcriber = transcriber
        self._analyst = analyst
        self._poll_interval = poll_interval
        self._webhook_timeout = webhook_timeout

    async def extract(self, ctx: Context, org: UUID, id: UUID) -> Extracted:
        call, found = await self._files.look_up(org, id, "raw", "audio", flow=ctx.job.parent)
        audio = found.get("audio") or await self._make_audio(ctx, call, found.get("raw"))
        await self._files.remove(call, "raw")
        facts = audio.facts
        await record(self._app, ctx, call, "audio", audio, obsolete="raw", seconds=facts.seconds)
        return Extracted(audio.path, facts.seconds, facts.channels, facts.rate)

    async def _make_audio(self, ctx: Context, call: Call, raw: File | None) -> File:
        if raw is None:
            raise Gone("the recording is not there any more; upload it again")
        await ctx.progress(5, "Fetching the recording…")
        with work_folder(FOLDER, abandoned=ABANDONED) as folder:
            source = await self._files.fetch(raw, folder / "raw")
            await ctx.progress(40, "Extracting the sound…")
            facts = await extract_audio(source, made := folder / "audio.flac")
            return await self._files.put(ctx, call, "audio", made, "audio/flac", facts=facts, instead_of="raw")

    async def start(self, ctx: Context, org: UUID, id: UUID) -> Started:
        call, found = await self._files.look_up(org, id, "audio", "ogg", "transcript")
        audio = found.get("audio")
        if audio is None:
            raise Gone("the sound of the recording is not there any more; upload it again")
        if "transcript" in found:
            await self._forget(call, None)
            return Started(None, audio.path, None)
        # remembered at once: a run that dies after this does not pay for another transcription
        operation = await ctx.step("start", self._hand_over, ctx, call, audio, found.get("ogg"))
        if self._webhook_timeout is not None:
            await self._until_called(ctx, self._webhook_timeout)
        _, found = await self._files.look_up(org, id, "ogg")
        if ogg := found.get("ogg"):
            await record(self._app, ctx, call, "ogg", ogg)
        return Started(operation, audio.path, call.whole_path("ogg"))

    async def _hand_over(self, ctx: Context, call: Call, audio: File, ogg: File | None) -> str:
        """Gives the operation's id."""
        await ctx.progress(10, "Preparing the sound…")
        with work_folder(FOLDER, abandoned=ABANDONED) as folder:
            sound = folder / "audio.ogg"
            if ogg is None:
                ogg = await self._make_ogg(ctx, call, audio, sound)
            else:
                await self._files.fetch(ogg, sound)
            await ctx.progress(60, "Handing the sound over…")
            name, facts, transcriber = call.name_at_provider, ogg.facts, self._transcriber
            if self._webhook_timeout is None or not isinstance(transcriber, CallingTranscriber):
                return await transcriber.start(sound, name=name, facts=facts)
            callback = self._callback(ctx, self._webhook_timeout)
            return await transcriber.start_with_callback(sound, name=name, facts=facts, callback=callback)

    def _callback(self, ctx: Context, seconds: float) -> str:
        signed = SIGNED_BY if os.environ.get(f"PENSTOCK_CALLBACK_SECRET_{SIGNED_BY}") else None
        return ctx.callback_url(TRANSCRIBED, expires=seconds, secret=signed)

    async def _until_called(self, ctx: Context, seconds: float) -> None:
        """It is only told that there is something: `transcribe_poll` looks, and goes on looking when nobody called."""
        await ctx.progress(90, "Transcribing…")
        try:
            await ctx.wait_for(TRANSCRIBED, key=str(ctx.id), timeout=seconds)
        except WaitTimeout:
            log.warning("nobody called about job %s in %g seconds: it is looked at from here on", ctx.id, seconds)

    async def _make_ogg(self, ctx: Context, call: Call, audio: File, to: Path) -> File:
        source = await self._files.fetch(audio, to.with_name("audio.flac"))
        facts = await to_ogg_opus(source, to)
        return await self._files.put(ctx, call, "ogg", to, "audio/ogg", facts=facts, expires_in=WHILE_IT_TAKES)

    async def poll(self, ctx: Context, org: UUID, id: UUID) -> Transcribed | Snooze:
        call, found = await self._files.look_up(org, id, "transcript")
        [earlier] = await ctx.outputs()
        operation = msgspec.convert(earlier.output, Started).operation_id
        transcript = found.get("transcript")
        if transcript is None:
            if ctx.job.snoozes == 0:
                await ctx.progress(1, "Transcribing…")
            said = await self._ask(call, operation)
            if said is None:
                return Snooze(self._poll_interval)
            transcript = await self._files.put(
                ctx, call, "transcript", said.to_json(), _JSON, seconds=said.seconds, instead_of="ogg"
            )
        await self._forget(call, operation)
        await record(self._app, ctx, call, "transcript", transcript, obsolete="ogg")
        return Transcribed(transcript.path)

    async def _ask(self, call: Call, operation: str | None) -> Transcript | None:
        if operation is None:
            raise Gone("the transcript is not there any more; try again")
        with ExitStack() as ending:

            async def audio() -> Path:
                _, found = await self._files.look_up(call.org, call.id, "ogg")
                if "ogg" not in found:
                    raise Gone("the sound to be transcribed is not there any more; try again")
                folder = ending.enter_context(work_folder(FOLDER, abandoned=ABANDONED))
                return await self._files.fetch(found["ogg"], folder / "audio.ogg")

            try:
                return await self._transcriber.poll(operation, audio)
            except TranscriptionFailed:
                await self._transcriber.forget(operation, name=call.name_at_provider)
                raise

    async def _forget(self, call: Call, operation: str | None) -> None:
        """What was only there to be transcribed, here and at the provider's."""
        await self._transcriber.forget(operation, name=call.name_at_provider)
        await self._files.remove(call, "ogg")

    async def analyze(self, ctx: Context, org: UUID, id: UUID) -> Analyzed:
        call, found = await self._files.look_up(org, id, "transcript", "analysis")
        analysis = found.get("analysis")
        if analysis is None:
            if "transcript" not in found:
                raise Gone("the transcript is not there any more; try again")
            await ctx.progress(90, "Analyzing…", phase="analyze")
            transcript = Transcript.from_json(await self._files.read(found["transcript"]))
            told = (await self._analyst.analyze(transcript)).to_json()
            analysis = await self._files.put(ctx, call, "analysis", told, _JSON)
        await record(self._app, ctx, call, "analysis", analysis)
        return Analyzed(analysis.path)

    async def remove(self, call: Call, job: UUID) -> Snooze | None:
        """Removes what is left of a call that was deleted, when nobody works on it any more."""
        if not await self._files.is_gone(call):
            return None
        if await self._files.is_worked_on(job):
            return Snooze(1)
        for tries in range(1, call.tries + 1):
            await self._transcriber.forget(None, name=replace(call, tries=tries).name_at_provider)
        await self._files.remove(call, "raw", "audio", "ogg", "transcript", "analysis")
        return None


async def ending_for_people(work: Awaitable[T]) -> T | Fail | Cancel:
    """What no further attempt would change ends the job, and says why; anything else raised is tried again."""
    try:
        return await work
    except Deleted:
        return Cancel("the call was deleted")
    except (NoAudio, TranscriptionFailed, AnalysisFailed, Gone, Full) as error:
        return Fail(str(error))
