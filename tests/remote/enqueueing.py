"""Enqueueing by the server's side, which knows no handlers."""

from typing import Any

from penstock import NewJob
from penstock.handle import JobHandle
from penstock.json import encode_args
from tests.remote.serving import Api


async def enqueue(api: Api, kind: str, **args: Any) -> JobHandle[Any]:
    return await enqueue_job(api, NewJob(kind=kind, args=encode_args(args)))


async def enqueue_job(api: Api, job: NewJob) -> JobHandle[Any]:
    [enqueued] = await api.app.engine.aenqueue([job])
    return api.app.handle(enqueued.id)
