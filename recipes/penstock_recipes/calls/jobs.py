"""The stages as jobs of an application, and the flow they make."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from penstock import Backoff, Cancel, Context, Fail, Flow, NewJob, Penstock, Snooze
from penstock_recipes.calls.stages import Analyzed, Extracted, Stages, Started, Transcribed, ending_for_people
from penstock_recipes.calls.store import Call, lock_call

if TYPE_CHECKING:
    import psycopg

Stage = Literal["extract_audio", "transcribe_start", "transcribe_poll", "analyze"]
STAGES: tuple[Stage, ...] = ("extract_audio", "transcribe_start", "transcribe_poll", "analyze")
QUEUES: Mapping[Stage, str] = {
    "extract_audio": "calls_audio",
    "transcribe_start": "calls_audio",
    "transcribe_poll": "calls",
    "analyze": "calls",
}
"""What takes a processor has a queue of its own, beside that of what waits for others."""
PHASES = {"extract_audio": (0.0, 20.0), "transcribe_start": (20.0, 30.0), "transcribe_poll": (30.0, 85.0)}
BACKOFF = Backoff(30, cap=600, factor=2, jitter=0)
"""min(600, 30 · 2ⁿ) seconds when n attempts have failed before: 30, 60, 120, 240."""
MAX_ATTEMPTS = 5


class Pipeline:
    def __init__(
        self,
        app: Penstock,
        stages: Stages,
        *,
        max_polls: int,
        queues: Mapping[Stage, str] = QUEUES,
        max_attempts: int = MAX_ATTEMPTS,
        backoff: Backoff = BACKOFF,
    ) -> None:
        @app.job(queue=queues["extract_audio"], max_attempts=max_attempts, backoff=backoff, timeout=1800)
        async def extract_audio(ctx: Context, org_id: UUID, call_id: UUID) -> Extracted | Fail | Cancel:
            """The sound of a recording."""
            return await ending_for_people(stages.extract(ctx, org_id, call_id))

        @app.job(queue=queues["transcribe_start"], max_attempts=max_attempts, backoff=backoff, timeout=1800)
        async def transcribe_start(ctx: Context, org_id: UUID, call_id: UUID) -> Started | Fail | Cancel:
            """Has somebody begin to write down what was said."""
            return await ending_for_people(stages.start(ctx, org_id, call_id))

        @app.job(
            queue=queues["transcribe_poll"],
            max_attempts=max_attempts,
            max_snoozes=max_polls,
            backoff=backoff,
            timeout=3600,
        )
        async def transcribe_poll(ctx: Context, org_id: UUID, call_id: UUID) -> Transcribed | Snooze | Fail | Cancel:
            """Looks whether that is done."""
            return await ending_for_people(stages.poll(ctx, org_id, call_id))

        @app.job(queue=queues["analyze"], max_attempts=max_attempts, backoff=backoff, timeout=900)
        async def analyze(ctx: Context, org_id: UUID, call_id: UUID) -> Analyzed | Fail | Cancel:
            """What the call was like; the last of the stages, and the flow itself."""
            return await ending_for_people(stages.analyze(ctx, org_id, call_id))

        @app.job(queue=queues["analyze"], max_attempts=20, backoff=backoff, timeout=600)
        async def remove_call(org_id: UUID, call_id: UUID, job_id: UUID, tries: int) -> Snooze | None:
            """Removes the files of a call that was deleted."""
            return await stages.remove(Call(org_id, call_id, tries), job_id)

        self._app = app
        self._stages = (extract_audio, transcribe_start, transcribe_poll, analyze)
        self._remove = remove_call

    def flow(self, call: Call) -> Flow:
        """One stage after the other. The jobs belong to the organisation, and to nobody in particular."""
        extract, start, poll, analyze = (
            handler.using(org=str(call.org)).prepare(org_id=call.org, call_id=call.id) for handler in self._stages
        )
        flow = Flow(then=analyze, phases=PHASES)
        extracted = flow.add(extract, phase="extract_audio", name="extract_audio")
        started = flow.add(start, phase="transcribe_start", name="transcribe_start", after=[extracted])
        flow.add(poll, phase="transcribe_poll", name="transcribe_poll", after=[started])
        return flow

    async def begin(
        self, connection: "psycopg.AsyncConnection[Any]", call: Call, write: Callable[[NewJob], Awaitable[bool]]
    ) -> UUID | None:
        """Enqueues the flow of a call if `write`, told its last job, has written the call on this connection.

        Where jobs are elsewhere they are enqueued right before the transaction is committed. The first stage waits for
        its end: when the call does not know the flow then, nobody was told of it, and it ends."""
        await lock_call(connection, call.id)
        jobs = self.flow(call).jobs()
        if not await write(jobs[0]):
            return None
        await self._app.aenqueue_many(jobs, connection=self._with(connection))
        return jobs[0].id

    async def remove_files(self, connection: "psycopg.AsyncConnection[Any]", call: Call, job: UUID) -> None:
        """Has the files of a call removed that the same transaction deletes."""
        remove = self._remove.using(connection=self._with(connection), org=str(call.org))
        await remove.aenqueue(org_id=call.org, call_id=call.id, job_id=job, tries=call.tries)

    def _with(self, connection: "psycopg.AsyncConnection[Any]") -> "psycopg.AsyncConnection[Any] | None":
        return connection if self._app.engine.capabilities.transactions else None
