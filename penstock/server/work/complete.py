"""Completing jobs for workers over HTTP: outputs and further jobs are checked as a worker of ours checks them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from penstock.app import Penstock
from penstock.engine import PostgresEngine, calls
from penstock.engine.call import Call
from penstock.engine.postgres.complete import complete_with
from penstock.engine.postgres.drivers import AsyncPsycopg, arun_script
from penstock.errors import DuplicateKey, IdempotencyMismatch, InvalidInput, UnknownJob
from penstock.job import Lease, NewJob
from penstock.json import encode_args, encode_output
from penstock.server.http.problems import Problem
from penstock.server.work.models import CompleteBatch, FurtherJob, Held


def complete_jobs(body: CompleteBatch) -> Call[list[UUID]]:
    return calls.complete(Lease(body.lease), body.jobs, _outputs(body))


async def complete_and_enqueue(app: Penstock, body: CompleteBatch) -> bool:
    """Completes the one job and enqueues the further ones, or neither; False when it is no longer the lease's."""
    further = [_new_job(place, job, app.max_payload) for place, job in enumerate(body.enqueue)]
    try:
        return await _commit(app.engine, Lease(body.lease), body.jobs[0], _outputs(body)[0], further)
    except DuplicateKey as error:
        raise Problem(409, str(error), errors=[{"field": error.field, "problem": error.problem}]) from None
    except (IdempotencyMismatch, UnknownJob) as error:
        raise InvalidInput("enqueue", str(error)) from None
    except InvalidInput as error:
        raise type(error)(error.field or "enqueue", error.problem) from None
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded):
        raise InvalidInput("enqueue", "a value in there cannot be stored") from None


async def _commit(
    engine: PostgresEngine, lease: Lease, job: Held, output: bytes | None, further: Sequence[NewJob]
) -> bool:
    async with (await engine.pools.of_this_loop()).connection() as connection:
        await connection.execute("begin")
        runner = AsyncPsycopg(connection, engine.schema)
        accepted = await arun_script(runner, complete_with(lease, job, output, further), engine.schema)
        await connection.execute("commit" if accepted else "rollback")
        return accepted


def _outputs(body: CompleteBatch) -> list[bytes | None]:
    outputs: list[bytes | None] = []
    for place, job in enumerate(body.jobs):
        try:
            outputs.append(None if job.output is None else encode_output(job.output))
        except InvalidInput as error:
            raise type(error)(f"jobs.{place}.{error.field}", error.problem) from None
    return outputs


def _new_job(place: int, job: FurtherJob, limit: int) -> NewJob:
    given: dict[str, Any] = job.model_dump(exclude={"args", "after"}, exclude_none=True)
    try:
        return NewJob(**given, args=encode_args(job.args, limit), after=tuple(job.after))
    except InvalidInput as error:
        raise type(error)(f"enqueue.{place}.{error.field}", error.problem) from None
