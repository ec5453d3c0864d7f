"""What operators do, one job or a million at a time, and the record of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, Unpack
from uuid import UUID

from penstock.cron import CatchUp, Schedule
from penstock.engine import commands
from penstock.engine.commands import Action, AuditLine, Command, Operation, Preview
from penstock.engine.protocol import Engine
from penstock.engine.script import Script, arun, run
from penstock.errors import InvalidInput
from penstock.handle import JobHandle
from penstock.job import new_job_id
from penstock.job_options import Choices
from penstock.jobs import Filter, checked_filter
from penstock.queue import Settings, as_json
from penstock.schedule import Schedules, pause_script, resume_script, run_script, set_script
from penstock.storage import Artifacts

T = TypeVar("T")

Operated = Sequence[Operation]
Ids = Sequence[UUID]


class Operations:
    """`app.operations`: actions over many jobs. `app.operator(who)` starts them.

    ```python
    for operation in app.operations.list():
        print(operation.who, operation.action, operation.state, operation.done)
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def preview(self, action: Action, **filter: Unpack[Filter]) -> Preview:
        """How many jobs the action would change, counted no further than ten thousand."""
        return self._engine.run(commands.PreviewOperation(action, checked_filter(filter)))

    async def apreview(self, action: Action, **filter: Unpack[Filter]) -> Preview:
        return await self._engine.arun(commands.PreviewOperation(action, checked_filter(filter)))

    def get(self, id: UUID) -> Operation | None:
        """An operation by its id; None when there is none."""
        return self._engine.run(commands.GetOperation(id))

    async def aget(self, id: UUID) -> Operation | None:
        return await self._engine.arun(commands.GetOperation(id))

    def list(self, *, before: UUID | None = None, limit: int = 50) -> Operated:
        """Newest first; `before` is the id of the last one of the page before."""
        return self._engine.run(commands.ListOperations(before, limit))

    async def alist(self, *, before: UUID | None = None, limit: int = 50) -> Operated:
        return await self._engine.arun(commands.ListOperations(before, limit))


class Audit:
    """`app.audit`: what operators did, a line each.

    ```python
    app.operator("ada").pause_queue("mail")
    line = app.audit.list(limit=1)[0]
    print(line.who, line.action, line.target)  # ada pause_queue mail
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, *, before: int | None = None, limit: int = 50) -> Sequence[AuditLine]:
        """Newest first; `before` is the number of the last line of the page before."""
        return self._engine.run(commands.ListAudit(before, limit))

    async def alist(self, *, before: int | None = None, limit: int = 50) -> Sequence[AuditLine]:
        return await self._engine.arun(commands.ListAudit(before, limit))


class Operator:
    """`app.operator(who)`: what somebody does, by hand, written to `app.audit` in the transaction that does it.

    Jobs are chosen as `app.jobs.list` does, by `ids` or by filter. Up to a thousand are changed at once; more in the
    background, by the worker or server that leads, which `app.operations` shows.

    ```python
    ada = app.operator("ada@example.com")
    ada.retry(queue="mail", error="connection refused")
    ada.move("slow", queue="mail", kind="newsletter")
    ada.pause_queue("mail")
    ```
    """

    def __init__(self, engine: Engine, schedules: Schedules, artifacts: Artifacts, who: str) -> None:
        if not isinstance(who, str) or not who or "\x00" in who:
            raise InvalidInput("who", f"must say who it is, not {who!r}")
        self.who = who
        self._engine = engine
        self._schedules = schedules
        self._artifacts = artifacts

    # Jobs, by ids or by filter.

    def change(self, action: Action, options: dict[str, Any] | None = None, **filter: Unpack[Filter]) -> Operation:
        """Any of the actions below by its name."""
        return self._engine.run(self._start(action, options or {}, filter))

    async def achange(
        self, action: Action, options: dict[str, Any] | None = None, **filter: Unpack[Filter]
    ) -> Operation:
        return await self._engine.arun(self._start(action, options or {}, filter))

    def retry(self, *, to_queue: str | None = None, **filter: Unpack[Filter]) -> Operation:
        """Brings failed jobs back, in another queue if named; cancelled ones if named by id or by their state."""
        return self.change("retry", _given(queue=to_queue), **filter)

    async def aretry(self, *, to_queue: str | None = None, **filter: Unpack[Filter]) -> Operation:
        return await self.achange("retry", _given(queue=to_queue), **filter)

    def cancel(self, *, reason: str | None = None, **filter: Unpack[Filter]) -> Operation:
        """Cancels jobs and whole flows; those that run are asked to stop."""
        return self.change("cancel", _given(reason=reason), **filter)

    async def acancel(self, *, reason: str | None = None, **filter: Unpack[Filter]) -> Operation:
        return await self.achange("cancel", _given(reason=reason), **filter)

    def purge(self, **filter: Unpack[Filter]) -> Operation:
        """Deletes finished jobs from history: those that failed, unless named by id or by another state."""
        return self.change("purge", **filter)

    async def apurge(self, **filter: Unpack[Filter]) -> Operation:
        return await self.achange("purge", **filter)

    def move(self, to_queue: str, **filter: Unpack[Filter]) -> Operation:
        """Puts jobs that have not started into another queue, at the end of its line."""
        return self.change("move", {"queue": to_queue}, **filter)

    async def amove(self, to_queue: str, **filter: Unpack[Filter]) -> Operation:
        return await self.achange("move", {"queue": to_queue}, **filter)

    def set_priority(self, priority: int, **filter: Unpack[Filter]) -> Operation:
        """Gives jobs that have not started another priority; higher goes first."""
        return self.change("set_priority", {"priority": checked_priority(priority)}, **filter)

    async def aset_priority(self, priority: int, **filter: Unpack[Filter]) -> Operation:
        return await self.achange("set_priority", {"priority": checked_priority(priority)}, **filter)

    def cancel_operation(self, id: UUID) -> bool:
        """Ends an operation that is under way; what it has done stays done. False when it had ended."""
        return self._engine.run(commands.CancelOperation(id, self.who))

    async def acancel_operation(self, id: UUID) -> bool:
        return await self._engine.arun(commands.CancelOperation(id, self.who))

    def _start(self, action: Action, options: dict[str, Any], filter: Filter) -> commands.StartOperation:
        return commands.StartOperation(new_job_id(), action, checked_filter(filter), options, self.who)

    # A few that are named, and what became of each: no operation is made of them.

    def cancel_jobs(self, *ids: UUID, reason: str = "cancelled") -> Ids:
        """Does what `app.jobs.cancel` does. Returns the ids of those that were still unfinished."""
        return self._run(self._named("cancel", ids, commands.Cancel(ids, reason)))

    async def acancel_jobs(self, *ids: UUID, reason: str = "cancelled") -> Ids:
        return await self._arun(self._named("cancel", ids, commands.Cancel(ids, reason)))

    def retry_jobs(self, *ids: UUID, queue: str | None = None) -> Ids:
        """Does what `app.jobs.retry` does. Returns the ids of those that came back."""
        return self._run(self._named("retry", ids, commands.Retry(ids, queue)))

    async def aretry_jobs(self, *ids: UUID, queue: str | None = None) -> Ids:
        return await self._arun(self._named("retry", ids, commands.Retry(ids, queue)))

    def delete_artifacts(self, *ids: UUID) -> Ids:
        """Does what `app.artifacts.delete` does. Returns the ids of those that were there."""
        marked = self._run(self._named("delete_artifacts", ids, commands.RemoveArtifacts(ids)))
        self._artifacts.remove_files(marked)
        return marked

    async def adelete_artifacts(self, *ids: UUID) -> Ids:
        marked = await self._arun(self._named("delete_artifacts", ids, commands.RemoveArtifacts(ids)))
        await self._artifacts.aremove_files(marked)
        return marked

    def _named(self, action: str, ids: Ids, command: Command[list[UUID]]) -> Script[Ids]:
        changed: Ids = yield command
        if changed:
            jobs = None if isinstance(command, commands.RemoveArtifacts) else len(changed)
            yield commands.AddAudit(self.who, action, None, {"filter": {"ids": ids}}, jobs)
        return changed

    def approve(self, job: UUID, *, approved: bool = True, comment: str | None = None, step: str | None = None) -> None:
        """Answers what a job asks by `ctx.approve`: yes, or with `approved=False` no. Raises NothingAsked when somebody
        has answered before. With `step`, only if that is what it asks: somebody may have answered what you saw."""
        self._engine.run(commands.Approve(job, approved, self.who, comment, step))

    async def aapprove(
        self, job: UUID, *, approved: bool = True, comment: str | None = None, step: str | None = None
    ) -> None:
        await self._engine.arun(commands.Approve(job, approved, self.who, comment, step))

    # Queues.

    def set_queue(self, name: str, **settings: Unpack[Settings]) -> None:
        """Changes settings, as `app.queues.set` does."""
        self._run(self._set_queue("set_queue", name, settings))

    async def aset_queue(self, name: str, **settings: Unpack[Settings]) -> None:
        await self._arun(self._set_queue("set_queue", name, settings))

    def pause_queue(self, name: str) -> None:
        """No job of the queue starts until it is resumed."""
        self._run(self._set_queue("pause_queue", name, {"paused": True}))

    async def apause_queue(self, name: str) -> None:
        await self._arun(self._set_queue("pause_queue", name, {"paused": True}))

    def resume_queue(self, name: str) -> None:
        """Jobs of a paused queue start again."""
        self._run(self._set_queue("resume_queue", name, {"paused": False}))

    async def aresume_queue(self, name: str) -> None:
        await self._arun(self._set_queue("resume_queue", name, {"paused": False}))

    def _set_queue(self, action: str, name: str, settings: Settings) -> Script[None]:
        changed = as_json(settings)
        yield commands.SetQueue(name, changed)
        yield commands.AddAudit(self.who, action, name, {"settings": changed})

    # Schedules.

    def set_schedule(
        self,
        name: str,
        cron: str,
        kind: str,
        args: Mapping[str, Any] | None = None,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        **options: Unpack[Choices],
    ) -> None:
        """Adds a schedule, or changes it, as `app.schedules.set` does."""
        schedule = self._schedules.prepare(name, cron, kind, args, tz=tz, catch_up=catch_up, **options)
        self._run(self._set_schedule(schedule))

    async def aset_schedule(
        self,
        name: str,
        cron: str,
        kind: str,
        args: Mapping[str, Any] | None = None,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        **options: Unpack[Choices],
    ) -> None:
        schedule = self._schedules.prepare(name, cron, kind, args, tz=tz, catch_up=catch_up, **options)
        await self._arun(self._set_schedule(schedule))

    def remove_schedule(self, name: str) -> bool:
        """Removes a schedule; False when there was none."""
        return self._run(self._remove_schedule(name))

    async def aremove_schedule(self, name: str) -> bool:
        return await self._arun(self._remove_schedule(name))

    def run_schedule(self, name: str) -> JobHandle[Any]:
        """Enqueues a job of the schedule at once, paused or not."""
        script = self._with_line("run_schedule", name, run_script)
        return JobHandle(self._engine, self._run(script))

    async def arun_schedule(self, name: str) -> JobHandle[Any]:
        script = self._with_line("run_schedule", name, run_script)
        return JobHandle(self._engine, await self._arun(script))

    def pause_schedule(self, name: str) -> None:
        """The schedule enqueues nothing until it is resumed."""
        self._run(self._with_line("pause_schedule", name, pause_script))

    async def apause_schedule(self, name: str) -> None:
        await self._arun(self._with_line("pause_schedule", name, pause_script))

    def resume_schedule(self, name: str) -> None:
        """A paused schedule goes on with its next time from now."""
        self._run(self._with_line("resume_schedule", name, resume_script))

    async def aresume_schedule(self, name: str) -> None:
        await self._arun(self._with_line("resume_schedule", name, resume_script))

    def _set_schedule(self, schedule: Schedule) -> Script[None]:
        yield from set_script(schedule)
        # without the arguments: there may be secrets among them
        told = {"cron": schedule.cron, "tz": schedule.tz, "kind": schedule.kind}
        yield commands.AddAudit(self.who, "set_schedule", schedule.name, told)

    def _remove_schedule(self, name: str) -> Script[bool]:
        removed: bool = yield commands.RemoveSchedule(name)
        if removed:
            yield commands.AddAudit(self.who, "remove_schedule", name, {})
        return removed

    def _with_line(
        self, action: str, name: str, script: Callable[[str, Mapping[str, Schedule]], Script[T]]
    ) -> Script[T]:
        result = yield from script(name, {each.name: each for each in self._schedules.code})
        yield commands.AddAudit(self.who, action, name, {})
        return result

    def _run(self, script: Script[T]) -> T:
        if not self._engine.capabilities.transactions:  # the change first, then the line about it
            return run(self._engine.run, script)
        with self._engine.transaction() as transaction:
            result = run(transaction.run, script)
            transaction.commit()
            return result

    async def _arun(self, script: Script[T]) -> T:
        if not self._engine.capabilities.transactions:  # the change first, then the line about it
            return await arun(self._engine.arun, script)
        async with self._engine.atransaction() as transaction:
            result = await arun(transaction.run, script)
            await transaction.commit()
            return result


def checked_priority(priority: int | None) -> int:
    if not isinstance(priority, int) or isinstance(priority, bool) or not -(2**31) <= priority < 2**31:
        raise InvalidInput("priority", f"must be a whole number, not {priority!r}")
    return priority


def _given(**options: str | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
