"""What operators did, and what is still being done in the background."""

from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section

section = Section()

ON_A_PAGE = 50
OPERATIONS = 10
_DIGITS = 18
"""Of a line's number, at most: it is a bigint."""


@section.page("/audit", "Audit", icon="audit")
async def audit(look: Look) -> Contents:
    before = _number(look.query.get("before"))
    lines = await look.run(commands.ListAudit(before, ON_A_PAGE + 1))
    operations = await look.run(commands.ListOperations(limit=OPERATIONS)) if before is None else []
    return {
        "lines": lines[:ON_A_PAGE],
        "older": lines[ON_A_PAGE - 1].number if len(lines) > ON_A_PAGE else None,
        "before": before,
        "operations": operations,
    }


@section.action("/operations/cancel")
async def cancel_operation(look: Look, form: Form) -> Done:
    ended = not await look.operator.acancel_operation(form.id("id"))
    return Done("It had ended already." if ended else "It stops; what it has done stays done.", "/audit")


def _number(text: str | None) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > _DIGITS:
        raise InvalidInput("before", f"must be the number of a line, not {text!r}")
    return int(text)
