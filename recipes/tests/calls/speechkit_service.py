"""SpeechKit's asynchronous recognition as it is documented, and a bucket that takes anything, on loopback."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock_recipes.calls.providers.transcription.speechkit import SpeechKit
from penstock_recipes.calls.providers.transcription.speechkit_settings import SpeechKitSettings
from tests.kit.fake_http import Answer, Request, fake_server

KEY = "AQVN-not-a-key"
CHUNKS = [
    {
        "alternatives": [
            {
                "words": [
                    {"startTime": "0.879999999s", "endTime": "1.159999992s", "word": "твой", "confidence": 1},
                    {"startTime": "1.219999995s", "endTime": "1.539999988s", "word": "номер", "confidence": 1},
                ],
                "text": "Твой номер 212-85-06.",
                "confidence": 1,
            },
            {"text": "another guess", "confidence": 1},
        ],
        "channelTag": "1",
    },
    {
        "alternatives": [{"words": [{"startTime": "0.5s", "endTime": "1s", "word": "да"}], "text": "Да."}],
        "channelTag": "2",
    },
]


@dataclass
class Service:
    """`polls` answers say that it is not done yet; `broken` answers instead of the service, while it lasts."""

    polls: int = 0
    chunks: list[dict[str, Any]] = field(default_factory=lambda: CHUNKS)
    error: dict[str, Any] | None = None
    broken: Callable[[Request], Answer | None] = lambda _: None
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    stored: dict[str, bytes] = field(default_factory=dict)
    operations: dict[str, str] = field(default_factory=dict)
    """By idempotency key."""
    callbacks: list[str] = field(default_factory=list)
    """Where it was asked to call, by a header that a gateway in front of it goes by."""

    @property
    def looks(self) -> int:
        """How often it was asked for an operation."""
        return sum(request.path.startswith("/operations/") for request in self.requests)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        return self.broken(request) or self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if request.path.startswith("/bucket?delete"):
            keys = re.findall("<Key>.*?</Key>", request.body.decode())
            for key in keys:
                self.stored.pop(f"/bucket/{key[5:-6]}", None)
            gone = "".join(f"<Deleted>{key}</Deleted>" for key in keys)
            return Answer(200, f"<DeleteResult>{gone}</DeleteResult>".encode(), {"Content-Type": "application/xml"})
        if request.path.startswith("/bucket/"):
            self.stored[request.path] = request.body
            return Answer(200, b"", {"ETag": '"1"'})
        if request.headers.get("authorization") not in (f"Api-Key {KEY}", f"Bearer {KEY}"):
            return told({"code": 16, "message": "The token is invalid", "details": []}, 401)
        if (request.method, request.path) == ("POST", "/speech/stt/v2/longRunningRecognize"):
            return self._start(request)
        name = request.path.removeprefix("/operations/")
        if request.method != "GET" or name not in self.operations.values():
            return told({"code": 5, "message": "Operation is not found"}, 404)
        self.polls -= 1
        if self.polls >= 0:
            return told(operation(name))
        if self.error:
            return told(operation(name, done=True, error=self.error))
        kind = "type.googleapis.com/yandex.cloud.ai.stt.v2.LongRunningRecognitionResponse"
        return told(operation(name, done=True, response={"@type": kind, "chunks": self.chunks}))

    def _start(self, request: Request) -> Answer:
        body = json.loads(request.body)
        uri = body["audio"]["uri"]
        if not uri.startswith("http") or "/bucket/" not in uri:
            return told({"code": 3, "message": "audio.uri: only Object Storage is supported"}, 400)
        key = request.headers["idempotency-key"]
        self.callbacks += [request.headers[name] for name in ("x-callback-url",) if name in request.headers]
        return told(operation(self.operations.setdefault(key, f"e03sup6d5h1qr574ht{len(self.operations):02}")))


def speechkit(service: Service, **options: Any) -> SpeechKit:
    """Its client."""
    chosen: dict[str, Any] = {
        "bucket": "bucket",
        "api_key": KEY,
        "access_key_id": "an-id",
        "secret_access_key": "a-secret",
        "storage_url": service.url,
        "transcribe_url": f"{service.url}/speech/stt/v2/longRunningRecognize",
        "operations_url": f"{service.url}/operations",
    }
    return SpeechKit(SpeechKitSettings(**chosen | options))


def operation(name: str, **more: Any) -> dict[str, Any]:
    when = "2026-04-21T22:49:29Z"
    return {"done": False, "id": name, "createdAt": when, "createdBy": "aje", "modifiedAt": when} | more


def told(what: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(what).encode(), {"Content-Type": "application/json"})


@asynccontextmanager
async def recognizing(**options: Any) -> AsyncIterator[Service]:
    service = Service(**options)
    async with fake_server(service.answer) as server:
        service.url = server.url.rstrip("/")
        yield service
