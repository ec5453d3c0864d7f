"""What jobs wait for from outside: answers of people, with a form for each, and events."""

from penstock.engine import commands
from penstock.errors import NothingAsked
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section
from penstock.server.dashboard.values import MOST, shown

section = Section()

SHOWN = 50


@section.page("/approvals", "Approvals", icon="approvals")
async def approvals(look: Look) -> Contents:
    after = look.text("after")
    asked = await look.run(commands.Approvals(after, SHOWN + 1))
    rows = [(each, shown(each.details, MOST // len(asked)).masked) for each in asked[:SHOWN]]
    events = await look.run(commands.EventsOverview()) if after is None else []
    return {
        "rows": rows,
        "events": events,
        "next": asked[SHOWN - 1].cursor if len(asked) > SHOWN else None,
        "after": after,
    }


@section.action("/approvals/answer")
async def answer(look: Look, form: Form) -> Done:
    approved = form["answer"] == "yes"
    try:
        await look.operator.aapprove(
            form.id("job"), approved=approved, comment=form.text("comment"), step=form.text("step")
        )
    except NothingAsked:
        return Done("Somebody has answered before, or the job is over.", "/approvals")
    return Done("It goes on: approved." if approved else "It goes on: refused.", "/approvals")
