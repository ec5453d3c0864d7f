"""Workers over HTTP, with the service key: each command that a worker gives is posted under its name, and answered with
what it gives. See docs/guides/remote-workers.md."""

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from penstock.engine import commands as c
from penstock.engine.commands.command import Command, result_of
from penstock.engine.http import contract
from penstock.engine.http.sent import SENT, Beat, Beaten, ClaimOrWait, path_of
from penstock.engine.http.wire import CompletionBody, encoded
from penstock.engine.postgres.engine import PostgresEngine
from penstock.errors import InvalidInput, LeaseLost, ProgramTooOld
from penstock.json import clean, encode_output, loads
from penstock.server.dependencies import Services, Shared, service_only
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.work import long_poll, uploads
from penstock.server.work.complete import complete_and_enqueue
from penstock.server.work.schemas import described_as
from penstock.server.work.waiting import WaitingWorkers

router = APIRouter(route_class=CheckedRoute, tags=["workers"], dependencies=[Depends(service_only)])
router.include_router(uploads.router, prefix="/api/work")


class Asked(NamedTuple):
    """A request of a worker's, and what it is answered with."""

    request: Request
    services: Services

    @property
    def engine(self) -> PostgresEngine:
        return self.services.app.database

    @property
    def workers(self) -> WaitingWorkers:
        assert self.services.workers is not None
        return self.services.workers

    async def be_tended(self) -> None:
        """Workers without a database cannot do what happens by itself: while there are any, this server does."""
        if self.services.upkeep is not None:
            await self.services.upkeep.ensure()


async def _run(command: Command[Any], asked: Asked) -> object:
    return await asked.engine.arun(command)


async def _open_lease(command: c.OpenLease, asked: Asked) -> int:
    await asked.be_tended()
    return await asked.engine.arun(command)


async def _beat(command: Beat, asked: Asked) -> Beaten:
    await asked.be_tended()
    if command.wait == 0:
        extended = await asked.engine.arun(c.Heartbeat(command.lease))
        return Beaten(extended.alive, extended.cancelling, extended.seconds)
    await asked.workers.settle()
    return await long_poll.beat(asked.engine, asked.workers, asked.request, command)


async def _wait_for_work(command: c.WaitForWork, asked: Asked) -> float | None:
    await asked.workers.settle()
    if not (await asked.engine.arun(c.Heartbeat(command.lease))).alive:
        raise LeaseLost(f"lease {command.lease} is gone: its jobs are others' by now; open a new one")
    _, again = await asked.workers.register(command.lease, command.queues)
    return again


async def _stop_waiting(command: c.StopWaiting, asked: Asked) -> None:
    await asked.workers.unregister(command.lease, command.queues)


async def _claim(command: ClaimOrWait, asked: Asked) -> object:
    if command.wait:
        await asked.be_tended()
        await asked.workers.settle()
    return await long_poll.claim(asked.engine, asked.workers, asked.request, command)


async def _complete(command: c.Complete, asked: Asked) -> object:
    jobs = [
        msgspec.structs.replace(job, output=_checked(job.output, f"jobs.{place}."))
        for place, job in enumerate(command.jobs)
    ]
    return await asked.engine.arun(c.Complete(command.lease, jobs))


async def _remember_step(command: c.RememberStep, asked: Asked) -> bool:
    return await asked.engine.arun(msgspec.structs.replace(command, output=_checked(command.output)))


async def _complete_and_enqueue(body: CompletionBody, asked: Asked) -> bool:
    job = msgspec.structs.replace(body.job, output=_checked(body.job.output, "job."))
    return await complete_and_enqueue(asked.services.app, msgspec.structs.replace(body, job=job))


async def _run_cleaned(command: Command[Any], asked: Asked) -> object:
    return await asked.engine.arun(_cleaned(command))


_Run = Callable[[Any, Asked], Awaitable[object]]
_BY_HAND: dict[type[Any], _Run] = {
    c.OpenLease: _open_lease,
    Beat: _beat,
    c.WaitForWork: _wait_for_work,
    c.StopWaiting: _stop_waiting,
    ClaimOrWait: _claim,
    c.Complete: _complete,
    c.CompleteAndEnqueue: _complete_and_enqueue,
    c.RememberStep: _remember_step,
    c.ReportProgress: _run_cleaned,
    c.Fail: _run_cleaned,
    c.Park: _run_cleaned,
    c.StopCancelled: _run_cleaned,
}


def _checked(output: msgspec.Raw, where: str = "") -> msgspec.Raw:
    """Refused as a worker of ours would have refused it."""
    try:
        value = loads(bytes(output))
        return c.NULL if value is None else msgspec.Raw(encode_output(value))
    except RecursionError:
        raise InvalidInput(f"{where}output", "is nested too deeply") from None
    except InvalidInput as error:
        raise type(error)(f"{where}{error.field}", error.problem) from None


def _cleaned(value: Any) -> Any:
    """With texts that Postgres can hold."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(each) for each in value]
        case msgspec.Struct():
            changed = {name: _cleaned(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **changed)
    return value


def _serve(kind: type[Command[Any]]) -> None:
    """Makes the route of a command."""
    run: _Run = _BY_HAND.get(kind, _run)
    shape = CompletionBody if kind is c.CompleteAndEnqueue else kind
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(shape).decode
    path = path_of(kind)

    async def answer(request: Request, shared: Shared) -> Response:
        _refuse_old(request)
        command = read(decode, await request.body())
        _refuse_twice(command)
        try:
            answer = encoded(await run(command, Asked(request, shared)))
            return Response(answer, headers=contract.SAID, media_type="application/json")
        except LeaseLost as error:
            raise Problem(410, str(error)) from None

    summary, _, more = inspect.cleandoc(kind.__doc__ or "").replace("\n", " ").partition(". ")
    router.add_api_route(
        path, answer, methods=["POST"], operation_id=path.rpartition("/")[2].replace("-", "_"),
        summary=summary.rstrip("."), description=more or None, response_class=Response,
        responses=problems(403, 409, 410, 426),
        openapi_extra=described_as(shape, result_of(kind)),
    )  # fmt: skip


def _refuse_old(request: Request) -> None:
    try:
        contract.refuse_worker(request.headers.get(contract.HEADER))
    except ProgramTooOld as error:
        raise Problem(426, str(error), headers={"Upgrade": f"penstock/{contract.SERVES}", **contract.SAID}) from None


def read(decode: Callable[[bytes], Any], body: bytes) -> Any:
    """A body as what it should be; refused by the name of the field at fault."""
    try:
        try:
            return decode(body)
        except msgspec.ValidationError as error:
            if "Expected `int`, got `float`" not in str(error):
                raise
            return decode(msgspec.json.encode(_whole(msgspec.json.decode(body))))
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("body", f"is not JSON: {error}") from None
    except RecursionError:
        raise InvalidInput("body", "is nested too deeply") from None


_THEIRS = ("output", "args", "options", "rollup")


def _whole(value: Any) -> Any:
    """With 17.0 as 17, which is the same to JSON: some languages know no other number. Not in what is a user's own."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: each if name in _THEIRS else _whole(each) for name, each in value.items()}
        case list():
            return [_whole(each) for each in value]
    return value


_REFUSAL = re.compile(r"(?P<problem>.*?)(?: - at `(?P<where>[^`]*)`)?", re.DOTALL)
_NAMED = re.compile(r"Object (?P<problem>missing required|contains unknown) field `(?P<field>[^`]*)`")


def _refusal(told: str) -> InvalidInput:
    """msgspec's words: Expected `int`, got `str` - at `$.jobs[0].id`."""
    match = _REFUSAL.fullmatch(told)
    assert match is not None
    where = re.sub(r"\[(\d+)\]", r".\1", match["where"] or "$").removeprefix("$").strip(".")
    problem = match["problem"]
    if named := _NAMED.match(problem):
        where = f"{where}.{named['field']}".strip(".")
        problem = "is required" if named["problem"].startswith("missing") else "is not known here"
    return InvalidInput(where or "body", problem.replace("`", ""))


def _refuse_twice(command: object) -> None:
    jobs = getattr(command, "jobs", None)
    if isinstance(jobs, list) and len({job.id for job in jobs}) < len(jobs):
        raise InvalidInput("jobs", "the same id twice")


for _kind, _example in SENT.items():
    if _example is not None:
        _serve(_kind)
