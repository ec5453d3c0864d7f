"""A job platform on the Postgres you already have."""

from penstock.app import Penstock
from penstock.artifact import Artifact
from penstock.backoff import Backoff
from penstock.context import Context, Earlier, JobContext, SyncContext
from penstock.dedupe import dedupe_key
from penstock.errors import (
    ArtifactExists,
    ArtifactExpired,
    CallFailed,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DuplicateKey,
    EngineCannot,
    IdempotencyMismatch,
    InvalidArguments,
    InvalidFlow,
    InvalidInput,
    JobCancelled,
    JobFailed,
    LeaseLost,
    LimitReached,
    NotAllowed,
    NothingAsked,
    NotMigrated,
    PayloadTooLarge,
    PenstockError,
    ProgramTooOld,
    ReplayMismatch,
    SchemaTooNew,
    SchemaTooOld,
    ServerTooOld,
    StorageFull,
    StoreFault,
    UniqueKeyTaken,
    UnknownArtifact,
    UnknownJob,
    UnknownKind,
    UnsupportedConnection,
    WaitTimeout,
)
from penstock.flow import Flow, batch
from penstock.handle import JobHandle
from penstock.handler import Handler
from penstock.job import ClaimedJob, Job, JobState, NewJob
from penstock.jobs import Page
from penstock.outcome import Cancel, EndedRun, Fail, Failure, Snooze
from penstock.queue import Queue
from penstock.usage import Usage
from penstock.wait_results import Approval
from penstock.worker import Worker
from penstock.worker.tick import TickResult

__all__ = [
    "Approval",
    "Artifact",
    "ArtifactExists",
    "ArtifactExpired",
    "Backoff",
    "CallFailed",
    "Cancel",
    "ClaimedJob",
    "Context",
    "DatabaseReadOnly",
    "DatabaseUnavailable",
    "DuplicateKey",
    "Earlier",
    "EndedRun",
    "EngineCannot",
    "Fail",
    "Failure",
    "Flow",
    "Handler",
    "IdempotencyMismatch",
    "InvalidArguments",
    "InvalidFlow",
    "InvalidInput",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobFailed",
    "JobHandle",
    "JobState",
    "LeaseLost",
    "LimitReached",
    "NewJob",
    "NotAllowed",
    "NotMigrated",
    "NothingAsked",
    "Page",
    "PayloadTooLarge",
    "Penstock",
    "PenstockError",
    "ProgramTooOld",
    "Queue",
    "ReplayMismatch",
    "SchemaTooNew",
    "SchemaTooOld",
    "ServerTooOld",
    "Snooze",
    "StorageFull",
    "StoreFault",
    "SyncContext",
    "TickResult",
    "UniqueKeyTaken",
    "UnknownArtifact",
    "UnknownJob",
    "UnknownKind",
    "UnsupportedConnection",
    "Usage",
    "WaitTimeout",
    "Worker",
    "batch",
    "dedupe_key",
]
