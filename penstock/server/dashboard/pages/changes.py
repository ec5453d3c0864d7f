"""Changing many jobs: by selection or by filter, with a look at how many, and a page that shows how far it is."""

from typing import Any, cast, get_args
from uuid import UUID

from starlette.datastructures import QueryParams

from penstock.engine import commands
from penstock.engine.commands import Action
from penstock.errors import InvalidInput
from penstock.jobs import Filter
from penstock.operations import checked_priority
from penstock.server.dashboard import words
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section
from penstock.server.dashboard.pages.jobs import filter_of
from penstock.server.http.problems import Problem

section = Section()

ACTIONS: dict[Action, str] = {
    "retry": "Retry",
    "cancel": "Cancel",
    "move": "Move",
    "set_priority": "Change priority of",
    "purge": "Delete",
}
"""With the word that stands before how many."""


@section.page("/jobs/change", "Change jobs", under="/jobs")
async def change(look: Look) -> Contents:
    if not look.session.operates:
        raise Problem(403, "you may look, but not change anything")
    action = _action(look.query.get("action"))
    filter = _filter(look.query)
    preview = await look.run(commands.PreviewOperation(action, filter))
    return {
        "action": action,
        "verb": ACTIONS[action],
        "preview": preview,
        "filters": [(name, value) for name, value in look.query.multi_items() if value and name != "action"],
        "selected": len(filter.get("ids", ())),
        "only_failed": action in ("retry", "purge") and "state" not in filter and "ids" not in filter,
        "queues": look.services.app.queue_names,
    }


@section.action("/jobs/change")
async def start(look: Look, form: Form) -> Done:
    action = _action(form.get("action"))
    filter = _filter(QueryParams(form.get("filter", "")))
    options: dict[str, Any] = {}
    if action in ("move", "retry") and (queue := form.text("to_queue")):
        options["queue"] = queue
    if action == "set_priority":
        options["priority"] = checked_priority(form.whole_number("priority"))
    if action == "cancel" and (reason := form.text("reason")):
        options["reason"] = reason
    operation = await look.operator.achange(action, options, **cast(Filter, filter))
    if operation.finished:
        return Done(f"{words.number(operation.done)} of {words.counted(operation.total, 'job')} changed.", "/jobs")
    if look.services.upkeep is not None:
        await look.services.upkeep.ensure()  # there may be no worker
    return Done("It is under way, and goes on when you leave.", f"/operations/{operation.id}")


@section.page("/operations/{id}", "Operation", under="/audit")
async def operation(look: Look) -> Contents:
    found = await look.run(commands.GetOperation(_id(look)))
    if found is None:
        raise Problem(404, "there is no such operation")
    return {"operation": found, "verb": ACTIONS[found.action], "percent": _percent(found)}


def _percent(operation: commands.Operation) -> float | None:
    """None when nobody knows how many there are."""
    if operation.finished:
        return 100.0
    return min(99.0, 100 * operation.done / operation.total) if operation.total_is_exact and operation.total else None


def _id(look: Look) -> UUID:
    try:
        return UUID(look.path["id"])
    except ValueError:
        raise Problem(404, "there is no such operation") from None


def _action(text: str | None) -> Action:
    if text not in get_args(Action):
        raise InvalidInput("action", f"must be one of {', '.join(ACTIONS)}, not {text!r}")
    return cast(Action, text)


def _filter(query: QueryParams) -> dict[str, Any]:
    """Those that were selected, or those that fit: never all of them by leaving out a word."""
    filter = dict(filter_of(query))
    try:
        ids = [UUID(each) for each in query.getlist("ids")]
    except ValueError:
        raise InvalidInput("ids", "must be ids of jobs") from None
    if ids:
        return {"ids": ids}
    if not filter:
        raise InvalidInput("ids", "select jobs, or find some by a filter first")
    return filter
