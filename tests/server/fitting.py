"""Makes generated requests meet what is there: most of them name seeded jobs, leases and links instead of made-up ones.

Only valid values are replaced, by valid ones: what a request does wrong it still does wrong.
"""

import zlib
from typing import Any
from uuid import UUID

from schemathesis import Case

from penstock.engine.http.sent import LONGEST_WAIT
from tests.server.seeded import Seeds

_SHORT = 0.05
"""Seconds that a request may wait; a long poll would otherwise take as long as it may."""


def fit(case: Case[Any], seeds: Seeds) -> None:
    """By what the case holds, so that it does the same to the same case every time."""
    dice = zlib.crc32(f"{case.method}{case.path}{_spoken(case)}".encode("utf-8", "replace"))
    if dice % 5:
        _name_seeds(case, seeds, dice // 5)
    _hurry(case)
    if isinstance(case.body, dict | list):
        case.body = _written_plainly(case.body)


def _written_plainly(value: Any) -> Any:
    """To JSON Schema 3.0 is an integer. We take it for a slip, and say so; what writes whole numbers writes 3."""
    match value:
        case dict():
            return {name: _written_plainly(each) for name, each in value.items()}
        case list():
            return [_written_plainly(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _spoken(case: Case[Any]) -> str:
    return f"{case.path_parameters}{case.query}{case.body!r}"


def _name_seeds(case: Case[Any], seeds: Seeds, dice: int) -> None:
    path, query = case.path_parameters or {}, case.query or {}
    if _is_uuid(path.get("id")):
        if case.path.startswith("/api/artifacts/{id}/file"):
            id, signed = seeds.links[dice % len(seeds.links)]
            path["id"] = str(id)
            if dice % 3:
                query |= {name: signed[name] for name in signed if _is_text(query.get(name))}
        elif case.path.startswith("/api/artifacts/"):
            path["id"] = str(seeds.artifacts[dice % len(seeds.artifacts)])
        elif case.path.startswith("/api/work/"):
            path["id"] = str(seeds.held)
        else:
            path["id"] = str(seeds.jobs[dice % len(seeds.jobs)])
    for given in (path, query, case.body):
        if isinstance(given, dict):
            _hold(given, seeds)
    if isinstance(case.body, dict) and case.path in ("/api/jobs", "/api/jobs/batch"):
        _name_kinds(case.body, dice)


def _hold(given: dict[str, Any], seeds: Seeds) -> None:
    """Speaks of the job that is held, by its lease."""
    for name, value in (("lease", seeds.lease), ("claims", seeds.claims)):
        if _is_count(given.get(name)):
            given[name] = str(value) if isinstance(given[name], str) else value
    jobs = given.get("jobs")
    if isinstance(jobs, list) and jobs and isinstance(jobs[0], dict) and _is_uuid(jobs[0].get("id")):
        jobs[0]["id"] = str(seeds.held)
        _hold(jobs[0], seeds)


def _name_kinds(body: dict[str, Any], dice: int) -> None:
    """Starts what can be started."""
    jobs = body.get("jobs")
    for asked in (body, *(jobs if isinstance(jobs, list) else ())):
        if isinstance(asked, dict) and _is_text(asked.get("kind")) and isinstance(asked.get("args", {}), dict):
            kind, args = _STARTABLE[dice % len(_STARTABLE)]
            asked["kind"] = kind
            if dice % 7 > 1:
                asked["args"] = dict(args)


_STARTABLE: list[tuple[str, dict[str, Any]]] = [
    ("export_pdf", {"document_id": "d1"}),
    ("render", {"document_id": "d1"}),
    ("book", {"chapters": 2}),
    ("internal", {"number": 5}),
]


def _hurry(case: Case[Any]) -> None:
    body = case.body
    if isinstance(body, dict):
        wait = body.get("wait")
        if isinstance(wait, int | float) and not isinstance(wait, bool) and 0 < wait <= LONGEST_WAIT:
            body["wait"] = _SHORT


def _is_uuid(value: object) -> bool:
    try:
        return str(UUID(str(value))) == str(value).lower()
    except ValueError:
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) < 200 and "\0" not in value


def _is_count(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and _is_count(int(value))
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
