"""Commands about jobs, by the jobs themselves and what is said of each: short forms for tests."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.job import Held, Lease


class InHand(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def claims(self) -> int: ...


class About(Protocol):
    @property
    def id(self) -> UUID: ...


A = TypeVar("A", bound=About)


def by_id(results: Sequence[A]) -> dict[UUID, A]:
    return {each.id: each for each in results}


def held(*jobs: InHand) -> list[Held]:
    return [Held(job.id, job.claims) for job in jobs]


def complete(lease: Lease, jobs: Sequence[InHand], outputs: Sequence[bytes | None] = ()) -> c.Complete:
    given = outputs or [None] * len(jobs)
    return c.Complete(
        lease,
        [
            c.Completed(job.id, job.claims, c.NULL if output is None else msgspec.Raw(output))
            for job, output in zip(jobs, given, strict=True)
        ],
    )


def fail(lease: Lease, jobs: Sequence[InHand], errors: Sequence[Mapping[str, Any]]) -> c.Fail:
    said = zip(jobs, errors, strict=True)
    return c.Fail(lease, [c.FailedAttempt(job.id, job.claims, c.AttemptError(**error)) for job, error in said])


def report_progress(lease: Lease, jobs: Sequence[InHand], reports: Sequence[Mapping[str, Any]]) -> c.ReportProgress:
    said = zip(jobs, reports, strict=True)
    return c.ReportProgress(lease, [c.Reported(job.id, job.claims, c.Progress(**report)) for job, report in said])


def snooze(lease: Lease, jobs: Sequence[InHand], seconds: Sequence[float]) -> c.Snooze:
    return c.Snooze(lease, [c.Snoozing(job.id, job.claims, each) for job, each in zip(jobs, seconds, strict=True)])


def park(lease: Lease, jobs: Sequence[InHand], reasons: Sequence[str]) -> c.Park:
    return c.Park(lease, [c.Unknown(job.id, job.claims, each) for job, each in zip(jobs, reasons, strict=True)])


def release(lease: Lease, jobs: Sequence[InHand]) -> c.Release:
    return c.Release(lease, held(*jobs))


def stop_cancelled(lease: Lease, jobs: Sequence[InHand], reason: str = "cancelled") -> c.StopCancelled:
    return c.StopCancelled(lease, held(*jobs), reason)


def remember_step(lease: Lease, job: InHand, name: str, output: bytes) -> c.RememberStep:
    return c.RememberStep(lease, job.id, job.claims, name, msgspec.Raw(output))


def recall_steps(lease: Lease, job: InHand) -> c.RecallSteps:
    return c.RecallSteps(lease, job.id, job.claims)


def outputs(lease: Lease, job: InHand) -> c.Outputs:
    return c.Outputs(lease, job.id, job.claims)
