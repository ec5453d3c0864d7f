"""A voice over HTTP: Chatterbox TTS as RunPod serves it, or anything that takes JSON and gives back audio.

POST {"input": {"text", "voice"}} is answered with audio at once, or with {"id", "status"} to be asked for again at
…/status/{id}, and in the end with {"status": "COMPLETED", "output": {"audio_url"} or {"audio"} in base64}.
"""

import asyncio
import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import httpx

from penstock_recipes.readings.providers.voice import Speech
from penstock_recipes.readings.providers.voice.codec import decode

_WAITING = frozenset({"IN_QUEUE", "IN_PROGRESS"})
_BUSY = frozenset({429, 502, 503, 504})
_TRIES = 5


class HttpVoice:
    """`address` is where text is sent, such as https://api.runpod.ai/v2/<endpoint>/run; `every` seconds it is asked how
    far it is, for at most `within` seconds in all."""

    def __init__(
        self,
        address: str,
        *,
        key: str | None = None,
        voice: str | None = None,
        every: float = 2.0,
        within: float = 900.0,
    ) -> None:
        self._address = address
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._voice = voice
        self._every = every
        self._within = within

    async def speak(self, paragraphs: list[str]) -> Speech:
        asked: dict[str, Any] = {"text": "\n\n".join(paragraphs)} | ({"voice": self._voice} if self._voice else {})
        async with httpx.AsyncClient(timeout=httpx.Timeout(60.0, read=self._within)) as client:
            audio = await self._record(client, {"input": asked})
        return await asyncio.to_thread(decode, audio)

    async def _record(self, client: httpx.AsyncClient, body: Mapping[str, Any]) -> bytes:
        until = time.monotonic() + self._within
        answer = await self._send(client, "POST", self._address, json=body)
        while not _is_audio(answer):
            told: dict[str, Any] = answer.json()
            status = told.get("status", "COMPLETED")
            if status not in _WAITING:
                return await self._result(client, status, told)
            if time.monotonic() > until:
                raise TimeoutError(f"the voice service has not finished within {self._within:g} seconds")
            await asyncio.sleep(_retry_after(answer) or self._every)
            answer = await self._send(client, "GET", urljoin(self._address, f"status/{told['id']}"))
        return answer.content

    async def _result(self, client: httpx.AsyncClient, status: str, told: Mapping[str, Any]) -> bytes:
        output = told.get("output")
        if status != "COMPLETED" or not isinstance(output, dict):
            raise RuntimeError(f"the voice service says {status}: {told.get('error') or 'without a reason'}")
        if address := output.get("audio_url"):
            # a link to a store: the key is for the service alone
            fetched = await client.get(urljoin(self._address, address), follow_redirects=True)
            fetched.raise_for_status()
            return fetched.content
        encoded = str(output.get("audio") or output.get("audio_base64") or "")
        return base64.b64decode(encoded.rpartition(",")[2], validate=True)

    async def _send(self, client: httpx.AsyncClient, method: str, address: str, **options: Any) -> httpx.Response:
        for attempt in range(1, _TRIES + 1):
            answer = await client.request(method, address, headers=self._headers, **options)
            if answer.status_code not in _BUSY or attempt == _TRIES:
                break
            await asyncio.sleep(_retry_after(answer) or self._every * attempt)
        answer.raise_for_status()
        return answer


def _is_audio(answer: httpx.Response) -> bool:
    kind = str(answer.headers.get("content-type", ""))
    return kind.startswith(("audio/", "application/octet-stream"))


def _retry_after(answer: httpx.Response) -> float | None:
    told = answer.headers.get("retry-after", "")
    return min(60.0, float(told)) if told.isdigit() else None
