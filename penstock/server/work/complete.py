"""Completing a job together with further ones, for workers over HTTP: checked as a worker of ours checks them."""

from typing import Any

import psycopg

from penstock.app import Penstock
from penstock.engine.commands import CompleteAndEnqueue
from penstock.engine.http.wire import CompletionBody
from penstock.errors import DuplicateKey, IdempotencyMismatch, InvalidInput, UnknownJob
from penstock.job import NewJob
from penstock.json import encode_args, loads
from penstock.server.http.problems import Problem


async def complete_and_enqueue(app: Penstock, body: CompletionBody) -> bool:
    """Completes the one job and enqueues the further ones, or neither; False when it is no longer the lease's."""
    further = [_new_job(place, job, app.max_payload) for place, job in enumerate(body.enqueue)]
    try:
        return await app.engine.arun(CompleteAndEnqueue(body.lease, body.job, further, body.progress))
    except DuplicateKey as error:
        raise Problem(409, str(error), errors=[{"field": error.field, "problem": error.problem}]) from None
    except (IdempotencyMismatch, UnknownJob) as error:
        raise InvalidInput("enqueue", str(error)) from None
    except InvalidInput as error:
        raise type(error)(error.field or "enqueue", error.problem) from None
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded):
        raise InvalidInput("enqueue", "a value in there cannot be stored") from None


def _new_job(place: int, job: Any, limit: int) -> NewJob:
    """As it was sent; what was left out by its default."""
    given = {name: value for name in job.__struct_fields__ if (value := getattr(job, name)) is not None}
    try:
        args = loads(bytes(given.pop("args")))
        if not isinstance(args, dict):
            raise InvalidInput("args", "must be an object")
        if given.get("quota") is True:
            raise InvalidInput("quota", "is the name of one, or false")
        return NewJob(**given, args=encode_args(args, limit))
    except InvalidInput as error:
        raise type(error)(f"enqueue.{place}.{error.field}", error.problem) from None
