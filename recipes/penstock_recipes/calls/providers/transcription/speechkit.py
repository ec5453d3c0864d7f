"""Yandex SpeechKit's asynchronous recognition (REST, API v2): the audio is put into Object Storage, a request names it,
and the operation that answers is asked for until it is done.

https://yandex.cloud/en/docs/speechkit/stt/api/transcribation-api
"""

import asyncio
import ssl
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

import httpx
import msgspec

from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.providers.transcription import AudioSource, Segment, Transcript, TranscriptionFailed, Word
from penstock_recipes.calls.providers.transcription.speechkit_settings import SpeechKitSettings

if TYPE_CHECKING:
    from obstore.store import S3Store

CALLBACK_HEADER = "X-Callback-Url"
_LIKELY_TO_PASS = frozenset({1, 4, 8, 10, 13, 14})
"""gRPC: cancelled, deadline exceeded, resource exhausted, aborted, internal, unavailable."""


class _Word(msgspec.Struct):
    word: str = ""
    start: str = msgspec.field(name="startTime", default="0s")
    end: str = msgspec.field(name="endTime", default="0s")


class _Alternative(msgspec.Struct):
    text: str = ""
    words: list[_Word] = []


class _Chunk(msgspec.Struct):
    alternatives: list[_Alternative] = []
    channel: str | int = msgspec.field(name="channelTag", default="1")


class _Response(msgspec.Struct):
    chunks: list[_Chunk] = []


class _Error(msgspec.Struct):
    code: int = 2
    message: str = ""


class _Operation(msgspec.Struct):
    id: str
    done: bool = False
    response: _Response | None = None
    error: _Error | None = None


class SpeechKit:
    """Its API keeps results for three days. `start` is safe to repeat: the audio goes to the same place, and the
    request carries the same idempotency key."""

    name = "speechkit"

    def __init__(self, settings: SpeechKitSettings | None = None) -> None:
        self.settings = settings or SpeechKitSettings.from_env()

    def __repr__(self) -> str:
        return f"SpeechKit({self.settings!r})"

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:
        return await self._start(audio, name, facts, {})

    async def start_with_callback(self, audio: Path, *, name: str, facts: AudioFacts, callback: str) -> str:
        """The address is a header: SpeechKit itself passes over it, a gateway in front of it may call there."""
        return await self._start(audio, name, facts, {CALLBACK_HEADER: callback})

    async def _start(self, audio: Path, name: str, facts: AudioFacts, more: dict[str, str]) -> str:
        asked = self.settings
        await self._store_call("upload the audio", "put_async", self._key(name), audio)
        # an OGG tells its rate and channels itself; the API asks not to say them again
        config: dict[str, object] = {
            "specification": {
                "languageCode": asked.language,
                "model": asked.model,
                "audioEncoding": "OGG_OPUS",
                "literature_text": True,
            }
        }
        if asked.folder:
            config["folderId"] = asked.folder
        address = f"{asked.storage_url.rstrip('/')}/{asked.bucket}/{quote(self._key(name))}"
        once = str(uuid5(NAMESPACE_URL, f"{address} {facts.seconds} {asked.language} {asked.model}"))
        headers = {"Idempotency-Key": once, "x-client-request-id": once, **more}
        body = {"config": config, "audio": {"uri": address}}
        return (await self._request("POST", asked.transcribe_url, json=body, headers=headers)).id

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:  # noqa: ARG002
        address = f"{self.settings.operations_url.rstrip('/')}/{quote(operation, safe='')}"
        told = await self._request("GET", address)
        if not told.done:
            return None
        if told.error is not None:
            # the operation has ended and would say the same for ever: only another start may help
            hint = "; retry the call from transcribe_start" if told.error.code in _LIKELY_TO_PASS else ""
            why = self.settings.redact(told.error.message)[:300] or "without a reason"
            raise TranscriptionFailed(f"SpeechKit could not recognize the audio: {why} (code {told.error.code}){hint}")
        if told.response is None:
            raise RuntimeError("SpeechKit says it is done, but not with what")
        return read_chunks(told.response.chunks, self.settings.language)

    async def forget(self, operation: str | None, *, name: str) -> None:  # noqa: ARG002
        """Removes the audio from the bucket."""
        await self._store_call("remove the audio", "delete_async", self._key(name))

    def _key(self, name: str) -> str:
        return f"{self.settings.prefix}/{name}" if self.settings.prefix else name

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()  # once: it takes 20 ms

    @cached_property
    def _store(self) -> "S3Store":
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise RuntimeError("Object Storage needs obstore: pip install 'penstock-recipes[calls]'") from error
        wanted = self.settings
        keys: dict[str, Any] = {}
        if wanted.access_key_id:  # else obstore looks for AWS_ACCESS_KEY_ID and whatever else it knows
            keys = {"access_key_id": wanted.access_key_id, "secret_access_key": wanted.secret_access_key}
        return S3Store(
            wanted.bucket,
            endpoint=wanted.storage_url,
            region=wanted.storage_region,
            virtual_hosted_style_request=False,
            client_options={"allow_http": wanted.storage_url.startswith("http://")},
            **keys,
        )

    async def _store_call(self, what: str, call: str, key: str, *data: Path) -> None:
        import obstore
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        options = {"attributes": {"Content-Type": "audio/ogg"}} if data else {}
        try:
            await getattr(obstore, call)(self._store, key, *data, **options)
        except (PermissionDeniedError, UnauthenticatedError):
            raise TranscriptionFailed(
                f"Object Storage does not let us {what}: check SPEECHKIT_ACCESS_KEY_ID, its secret, and that the "
                f"account may write to the bucket {self.settings.bucket!r}"
            ) from None
        except FileNotFoundError:
            if data:
                raise
        except BaseError as error:
            # obstore's texts go on for pages; the first line says it
            why = self.settings.redact(str(error).splitlines()[0][:300])
            raise RuntimeError(f"Object Storage failed to {what}: {why}") from None

    async def _request(
        self, method: str, address: str, *, json: object = None, headers: dict[str, str] | None = None
    ) -> _Operation:
        sent = {"Authorization": self.settings.authorization, **(headers or {})}
        secure = address.startswith("https:")
        tls = await asyncio.to_thread(lambda: self._tls) if secure else False
        try:
            async with httpx.AsyncClient(timeout=self.settings.timeout, verify=tls) as client:
                answer = await client.request(method, address, json=json, headers=sent)
        except httpx.HTTPError as error:
            raise RuntimeError(f"SpeechKit cannot be reached: {type(error).__name__}") from None
        if answer.status_code != HTTPStatus.OK:
            self._refuse(answer)
        try:
            return msgspec.json.decode(answer.content, type=_Operation)
        except msgspec.MsgspecError as error:
            raise RuntimeError(f"SpeechKit's answer is not understood: {error}") from None

    def _refuse(self, answer: httpx.Response) -> NoReturn:
        """What is wrong with the request stays wrong; what is wrong with the service may pass."""
        status = answer.status_code
        why = self.settings.redact(_reason(answer))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise TranscriptionFailed(
                f"SpeechKit does not accept the key ({status}): set SPEECHKIT_API_KEY to one of a service account with "
                "the role ai.speechkit-stt.user"
            )
        if answer.request.method == "GET" and status == HTTPStatus.NOT_FOUND:
            raise TranscriptionFailed("SpeechKit no longer knows this operation; it keeps results for three days")
        if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or not 400 <= status < 500:
            raise RuntimeError(f"SpeechKit is not to be had right now ({status}): {why}")
        raise TranscriptionFailed(f"SpeechKit does not accept the request ({status}): {why}")


def _reason(answer: httpx.Response) -> str:
    try:
        return msgspec.json.decode(answer.content, type=_Error).message[:300] or "without a reason"
    except msgspec.MsgspecError:
        return "without a reason"


def read_chunks(chunks: list[_Chunk], language: str) -> Transcript:
    """Its confidences are left out: the API says that they mean nothing yet. It does not tell how long the audio is, so
    the transcript ends with the last word."""
    segments: list[Segment] = []
    ends: dict[int, float] = {}
    for chunk in chunks:
        if not chunk.alternatives or not chunk.alternatives[0].text:
            continue
        best = chunk.alternatives[0]
        speaker = _number(chunk.channel)
        words = tuple(Word(_seconds(word.start), _seconds(word.end), word.word) for word in best.words)
        start = min((word.start for word in words), default=ends.get(speaker, 0.0))
        end = max((word.end for word in words), default=start)
        ends[speaker] = end
        segments.append(Segment(start, end, speaker, best.text, None, words))
    segments.sort(key=lambda segment: (segment.start, segment.speaker))
    return Transcript(language, max(ends.values(), default=0.0), SpeechKit.name, tuple(segments))


def _number(channel: str | int) -> int:
    try:
        return max(1, int(channel))
    except ValueError:
        raise RuntimeError(f"SpeechKit's answer is not understood: channel {str(channel)[:20]!r}") from None


def _seconds(duration: str) -> float:
    """A duration as protobuf writes it in JSON: 0.879999999s."""
    try:
        return round(float(duration.removesuffix("s")), 2)
    except ValueError:
        raise RuntimeError(f"SpeechKit's answer is not understood: time {duration[:20]!r}") from None
