"""What BullMQ cannot do, and what to do about it: by the name of the capability that is missing."""

from typing import Any

from penstock.engine import commands as c
from penstock.engine.commands.command import Command
from penstock.errors import EngineCannot

_INSTEAD = {
    "transactions": "write in a connection of your own, and let the handler bear being run twice",
    "artifacts": "give the application a database too: Penstock('postgresql://…', jobs='redis://…')",
    "durable_waits": "use ctx.snooze, or a Flow whose next step is a job of its own",
    "search": "list by queue, state, kind, owner or org",
    "statistics": "ask the metrics of the worker, or BullMQ's own tools",
    "database": "keep these jobs in Postgres",
}

_WAITS = (
    c.Suspend, c.Emit, c.Approve, c.ApproveMine, c.TakeCallback, c.Approvals, c.AskedOfJob, c.AskedOfMine,
    c.EventsOverview, c.StepsOf,
)  # fmt: skip
_SEARCHES = (c.SearchSeenJobs, c.FlowJobs)
_COUNTS = (c.ListUsage, c.SumUsage)


def refusal(command: Command[Any]) -> EngineCannot:
    return cannot(_lacking(type(command)), f"`{type(command).__name__}`")


def cannot(capability: str, what: str) -> EngineCannot:
    needed = "needs a database connection, and" if capability in ("transactions", "database") else "is not there where"
    return EngineCannot(capability, f"{what} {needed} these jobs are in Redis: {_INSTEAD[capability]}")


def _lacking(kind: type[Command[Any]]) -> str:
    if kind.__module__ == c.BeginArtifact.__module__:
        return "artifacts"
    if kind.__module__ == c.StatisticsSeries.__module__ or kind in _COUNTS:
        return "statistics"
    return "durable_waits" if kind in _WAITS else "search" if kind in _SEARCHES else "database"
