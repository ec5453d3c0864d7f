"""Connections of one event loop to Redis, and what is sent over them: several calls at once, in one round trip."""

import asyncio
import builtins
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import ConnectionError, NoScriptError, RedisError, TimeoutError, WatchError

from penstock.engine.bullmq.address import Address
from penstock.engine.bullmq.calls import RedisCall
from penstock.engine.bullmq.names import Names, QueueKeys
from penstock.engine.faults import UNSET, within
from penstock.errors import InvalidInput, LeaseLost

if TYPE_CHECKING:
    from bullmq import Queue

_OURS = (
    "takeThis", "remember", "carryOn", "holdKey", "waitAgain", "noteMoved", "putAside", "putBack", "keepLease",
    "forgetClaim",
)  # fmt: skip


class Session:
    """Of one loop. What is remembered here only spares questions; Redis knows better."""

    def __init__(self, address: Address, *, connections: int, timeout: float | None) -> None:
        self.address = address
        self.names = Names(address.prefix, address.cluster)
        self.known_queues: set[str] = set()
        """That Redis has been told of."""
        self.due: dict[str, float] = {}
        """When the next job of a queue is due that nobody can have before, as the last claim was told."""
        self.appetite: dict[str, int] = {}
        """How many jobs to ask a queue for at first."""
        self._timeout = timeout
        self._room = asyncio.Semaphore(connections)
        self._answered_at = 0.0
        self._loading = asyncio.Lock()
        self._loaded_at = 0.0
        # others are for what BullMQ's package asks
        self.client = self.connect(2 * connections, timeout)
        self._queues: dict[str, Queue] = {}

    def connect(self, connections: int = 1, timeout: float | None = None) -> Any:
        """A client of its own: what waits for long must not hold a connection that others need."""
        options: dict[str, Any] = {"decode_responses": True, "socket_timeout": timeout, "max_connections": connections}
        options["socket_connect_timeout"] = timeout or 5.0
        try:
            if self.address.cluster:
                return RedisCluster.from_url(self.address.url, **options)
            client: Any = Redis.from_url(self.address.url, **options)
            client.connection_pool.make_connection()
        except (TypeError, ValueError, RedisError) as error:
            raise InvalidInput("url", f"has something that redis-py does not take: {error}") from error
        return client

    @property
    def timeout(self) -> float | None:
        """Seconds that Redis has for an answer."""
        asked = within.get()
        return self._timeout if asked is UNSET else asked

    def keys(self, queue: str) -> QueueKeys:
        return self.names.queue(queue)

    async def one(self, call: RedisCall) -> Any:
        [answer] = await self.many([call])
        return answer

    async def many(
        self, calls: Sequence[RedisCall], *, together: bool = False, held: tuple[str, str] | None = None
    ) -> list[Any]:
        """The answers in their order. `together`: nobody sees some of it, and all happen or none; with `held`, a lock
        and its token, none once that is another's, and LeaseLost says so."""
        if not calls:
            return []
        began = time.monotonic()
        answers = await self._send(calls, together, held)
        missing = [index for index, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if missing:
            await self._load(began)
            again = await self._send([calls[index] for index in missing], together)
            for index, answer in zip(missing, again, strict=True):
                answers[index] = answer
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    async def _send(self, calls: Sequence[RedisCall], together: bool, held: tuple[str, str] | None = None) -> list[Any]:
        digests = _digests()
        words = [
            call.words if call.script is None else ("EVALSHA", digests[call.script], *call.words) for call in calls
        ]
        answers: list[Any]
        began = time.monotonic()
        await self._enter(began)
        try:
            async with _answering(self._left(began)):
                if len(words) == 1:
                    answers = [await self.client.execute_command(*words[0])]
                else:
                    if together:
                        await self._expect({digests[call.script] for call in calls if call.script is not None})
                    async with self.client.pipeline(transaction=together) as pipeline:
                        if held is not None:
                            await _watch(pipeline, *held)
                        for each in words:
                            pipeline.execute_command(*each)
                        answers = await pipeline.execute(raise_on_error=False)
        except NoScriptError as error:
            answers = [error]
        except WatchError:
            raise LeaseLost("its lock went to another in this moment") from None
        except AttributeError as error:
            # redis-py, of a connection that another task has just found to be lost
            raise ConnectionError(f"the connection was lost: {error}") from error
        finally:
            self._room.release()
        self._answered_at = time.monotonic()
        return answers

    async def _enter(self, began: float) -> None:
        """A queue of callers may be long: as long as anybody has an answer, that is no reason to give up."""
        while True:
            try:
                async with _answering(self._left(began)):
                    await self._room.acquire()
                    return
            except TimeoutError:
                if not self._left(began):
                    raise

    def _left(self, began: float) -> float | None:
        if self.timeout is None:
            return None
        return max(0.0, self.timeout - (time.monotonic() - max(began, self._answered_at)))

    async def _expect(self, scripts: set[str]) -> None:
        """Before a transaction: one that is missed in it leaves the rest to happen, and would come after that."""
        if scripts and not all(await self.client.script_exists(*scripts)):
            await self._load(time.monotonic())

    async def _load(self, missed_at: float) -> None:
        """Of many who miss the scripts at once, one loads them."""
        async with self._loading, _answering(self.timeout):
            if self._loaded_at < missed_at:
                for source in _sources().values():
                    await self.client.script_load(source)
                self._loaded_at = time.monotonic()

    def queue(self, queue: str) -> "Queue":
        """As BullMQ's package has it, for what is not done often."""
        found = self._queues.get(queue)
        if found is None:
            from bullmq import Queue

            prefix, _, name = self.keys(queue).name.partition(":")
            found = self._queues[queue] = Queue(name, {"connection": self.client, "prefix": prefix})
        return found

    async def close(self) -> None:
        await self.client.aclose()


async def _watch(pipeline: Any, lock: str, token: str) -> None:
    await pipeline.watch(lock)
    if await pipeline.get(lock) != token:
        raise LeaseLost("its lock is another's")
    pipeline.multi()


@asynccontextmanager
async def _answering(seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except builtins.TimeoutError as error:
        raise TimeoutError("it does not answer") from error


@cache
def _sources() -> dict[str, str]:
    """The scripts by their names: those of the package, and the few that are ours."""
    theirs = (files("bullmq") / "commands").iterdir()
    sources = {each.name.partition("-")[0]: each.read_text("utf-8") for each in theirs if each.name.endswith(".lua")}
    ours = files(__package__) / "lua"
    return sources | {name: (ours / f"{name}.lua").read_text("utf-8") for name in _OURS}


@cache
def _digests() -> dict[str, str]:
    return {name: hashlib.sha1(text.encode()).hexdigest() for name, text in _sources().items()}  # noqa: S324 - Redis's


__all__ = ["Session"]
