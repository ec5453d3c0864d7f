"""A job as its changes come, for routes of an application's own that stream them in a shape of their own."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import Depends, Request

from penstock.engine.commands import SeenJob
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services, services_of, user_or_service
from penstock.server.http.problems import Problem, not_found
from penstock.server.live.states import State
from penstock.storage.links import read_watch_token, signing_secret


async def caller_of_job(request: Request) -> Identity:
    """By the headers; by `watch` in the address for whoever was given a token for this one job."""
    token = request.query_params.get("watch")
    if token is None:
        return await user_or_service(request)
    settings = services_of(request).settings
    secret = signing_secret(settings.signing_secret, settings.service_key)
    try:
        job = UUID(str(request.path_params.get("id")))
    except ValueError:
        raise not_found() from None
    expires = read_watch_token(secret, job, token, time.time()) if secret else None
    if expires is None:
        raise Problem(401, "watch: the token is for another job, or over; ask for another where you got it")
    return Identity("anon", claims=f'{{"role":"anon","exp":{expires}}}', watches=job)


async def caller_of_stream(request: Request) -> Identity:
    """The same; also by `access_token` in the address for a browser's EventSource, which cannot set headers."""
    token = request.query_params.get("access_token")
    if token is not None and "authorization" not in request.headers:
        caller = await services_of(request).authenticator.identify({"authorization": f"Bearer {token}"})
        if caller.is_service:
            raise Problem(401, "the service key does not belong into an address, which is logged: send it as a header")
        return caller
    return await caller_of_job(request)


JobCaller = Annotated[Identity, Depends(caller_of_job)]
StreamCaller = Annotated[Identity, Depends(caller_of_stream)]


def seconds_open(services: Services, caller: Identity) -> float:
    """How long a stream may last: not longer than the caller's token is valid, so who was shut out does not go on."""
    longest = services.settings.stream_seconds
    expires = msgspec.json.decode(caller.claims).get("exp")
    return longest if expires is None else max(0.0, min(longest, expires - time.time()))


async def follow(services: Services, caller: Identity, id: UUID) -> AsyncIterator[SeenJob | None]:
    """The job now, and again each time it is another, until it has ended or the server stops; None when a while has
    passed with nothing to tell; TimeoutError when it has been followed for long enough. Whether the caller may see it
    is for whoever calls this to know (`visible_job`)."""
    until = time.monotonic() + seconds_open(services, caller)
    watcher = _Follower()
    topic = await services.hub.join(watcher, id)
    try:
        if topic.state is None:
            raise not_found()
        watcher.begin(topic.state)
        while not watcher.left:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                state = await watcher.next()
            yield state.job if state else None
            if state is not None and state.final:
                return
    finally:
        services.hub.part(watcher, topic)


async def follow_all(services: Services, caller: Identity, ids: Sequence[UUID]) -> AsyncIterator[list[SeenJob] | None]:
    """Several jobs as `follow` has one: all of them, each time that one is another, until the last has ended."""
    seen: dict[UUID, SeenJob] = {}
    news: asyncio.Queue[SeenJob | Exception | None] = asyncio.Queue()
    following = {asyncio.create_task(_pass_on(services, caller, id, news)) for id in ids}
    try:
        for _ in following:
            while (told := await news.get()) is not _NO_MORE:
                if isinstance(told, Exception):
                    raise told
                if told is None:
                    yield None
                    continue
                seen[told.id] = told
                if len(seen) == len(ids):
                    yield [seen[id] for id in ids]
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


_NO_MORE = EOFError("it is followed no longer")


async def _pass_on(
    services: Services, caller: Identity, id: UUID, news: "asyncio.Queue[SeenJob | Exception | None]"
) -> None:
    try:
        async for job in follow(services, caller, id):
            await news.put(job)
    except Exception as error:
        await news.put(error)
    else:
        await news.put(_NO_MORE)


class _Follower:
    """Holds the newest state, and no other, until it is asked for."""

    def __init__(self) -> None:
        self.left = False
        self._newest: State | None = None
        self._something = asyncio.Event()

    def begin(self, state: State) -> None:
        """What there was at first, unless it is another by now."""
        if self._newest is None:
            self.tell(state)

    def tell(self, state: State) -> None:
        self._newest = state
        self._something.set()

    def keep_alive(self) -> None:
        self._something.set()

    def leave(self) -> None:
        self.left = True
        self._something.set()

    async def next(self) -> State | None:
        await self._something.wait()
        self._something.clear()
        newest, self._newest = self._newest, None
        return newest
