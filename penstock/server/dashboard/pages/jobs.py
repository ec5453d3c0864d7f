"""Jobs, live and finished, newest first: found by what the address says."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from starlette.datastructures import QueryParams

from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.job import JobState
from penstock.jobs import checked_filter
from penstock.server.dashboard.address import path_with
from penstock.server.dashboard.page import Contents, Look, Section

section = Section()

ON_A_PAGE = 50
_TEXTS = ("kind", "queue", "owner", "org", "id", "error")
_SINCE = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7)}
SINCE = [("15m", "15 minutes"), ("1h", "hour"), ("24h", "24 hours"), ("7d", "7 days")]
_ID = re.compile(r"[0-9a-fA-F-]{8,36}")


@section.page("/jobs", "Jobs", icon="jobs")
async def jobs(look: Look) -> Contents:
    wanted = look.query.get("q", "").strip()
    if wanted:
        return {"go_to": _found(wanted, look.services.app.kinds)}
    before = _uuid("before", look.query.get("before"))
    filters = [(name, value) for name, value in look.query.multi_items() if name != "before" and value]
    page = await look.run(commands.SearchJobs(filter_of(look.query), before, ON_A_PAGE))
    return {
        "jobs": page.jobs,
        "searched_back_to": page.searched_back_to if len(page.jobs) < ON_A_PAGE else None,
        "older": str(page.next) if page.next else None,
        "before": before,
        "given": {name: look.query.get(name, "") for name in (*_TEXTS, "since", "after", "until", "parent")},
        "states": [(each.value, each.value in look.query.getlist("state")) for each in JobState],
        "since_choices": SINCE,
        "kinds": look.services.app.kinds,
        "filters": filters,
        "filters_anywhere": [(name, value) for name, value in filters if name != "parent"],
    }


def filter_of(query: QueryParams) -> Mapping[str, Any]:
    """The filter that an address names; InvalidInput for what cannot be read."""
    filter: dict[str, Any] = {name: query[name].strip() for name in _TEXTS if query.get(name, "").strip()}
    states = [each for each in query.getlist("state") if each]
    if states:
        filter["state"] = states
    if since := query.get("since"):
        if since not in _SINCE:
            raise InvalidInput("since", f"must be one of {', '.join(_SINCE)}, not {since!r}")
        # to the minute, so that the same page stays the same look
        filter["created_after"] = datetime.now(UTC).replace(second=0, microsecond=0) - _SINCE[since]
    for name, field in (("after", "created_after"), ("until", "created_before")):
        if text := query.get(name):
            filter[field] = _moment(name, text)
    if parent := _uuid("parent", query.get("parent")):
        filter["parent"] = parent
    if "id" in filter and not re.fullmatch(r"[0-9a-fA-F-]{1,36}", filter["id"]):
        raise InvalidInput("id", f"must be the beginning of a job's id, not {filter['id']!r}")
    return checked_filter(filter)  # type: ignore[arg-type]


def _found(wanted: str, kinds: list[str]) -> str:
    """What somebody may have meant: an id, a kind, or what an error says."""
    try:
        return f"/jobs/{UUID(wanted)}"
    except ValueError:
        pass
    if _ID.fullmatch(wanted):
        return path_with("/jobs", id=wanted)
    return path_with("/jobs", kind=wanted) if wanted in kinds else path_with("/jobs", error=wanted)


def _uuid(name: str, text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise InvalidInput(name, f"must be the id of a job, not {text!r}") from None


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(name, f"must be a time like 2026-12-24T18:00, not {text!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
