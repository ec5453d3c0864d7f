"""How far a flow is, added up from its jobs when somebody asks: a report of one of them costs what it always does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.record import CANCEL, Record, number
from penstock.engine.bullmq.session import Session
from penstock.job import JobState

_AT_ONCE = 500
_READ = ("name", "opts", "progress", "finishedOn", CANCEL)
_SETS = (
    ("SMEMBERS", "dependencies", ""), ("HKEYS", "processed", "completed"), ("HKEYS", "failed", "failed"),
    ("ZRANGE", "unsuccessful", "failed", 0, -1),
)  # fmt: skip
"""Of a job: where its children are, and what has become of them there."""

_THROUGH = 0.99999
"""Of a phase's weight: three thirds of it are less than one."""


@dataclass(frozen=True, slots=True)
class _Member:
    record: Record
    end: JobState | None
    """None while it has not ended."""
    percent: float = 0.0
    message: str | None = None


async def progress_of(session: Session, record: Record) -> dict[str, Any]:
    """What the job has said of itself, and of a flow what has become of its jobs."""
    rollup = record.about.get("rollup")
    if not rollup:
        return record.progress
    over = "finishedOn" in record.fields and "returnvalue" not in record.fields
    reached = _rolled_up(rollup, await _members(session, record), going_on=rollup["policy"] == "continue" and not over)
    said = record.progress
    # its last step goes on from there, and takes nothing back; if it did not succeed, nothing has gone on
    percent = reached["percent"] if over else max(reached["percent"], number(said.get("percent")))
    return reached | said | {"percent": percent}


async def jobs_below(session: Session, job: Record) -> list[Record]:
    """All of them, also those of flows within it."""
    found: dict[str, Record] = {}
    keys = [session.keys(job.queue)[job.id]]
    while keys:
        children = {session.keys(each.record.queue)[each.record.id]: each for each in await _children(session, keys)}
        keys = [key for key in children if key not in found]
        found |= {key: children[key].record for key in keys}
    return list(found.values())


async def _members(session: Session, flow: Record) -> list[_Member]:
    """The flow's own jobs. In BullMQ a job is the child of what waits for it, which may be another job of the flow, or
    of a flow within it."""
    found: list[_Member] = []
    keys = [session.keys(flow.queue)[flow.id]]
    while keys:
        children = await _children(session, keys)
        for each in children:
            if each.record.flow == flow.uuid:
                told = {} if each.end else await progress_of(session, each.record)
                found.append(replace(each, percent=float(told.get("percent") or 0), message=told.get("message")))
        keys = [session.keys(each.record.queue)[each.record.id] for each in children]
    return found


async def _children(session: Session, keys: Sequence[str]) -> list[_Member]:
    looks = [plain(word, f"{key}:{part}", *more) for key in keys for word, part, _, *more in _SETS]
    places: dict[str, str] = {}
    for (_, _, place, *_), children in zip(_SETS * len(keys), await session.many(looks), strict=True):
        places |= dict.fromkeys(children, place)
    members = []
    for start in range(0, len(places), _AT_ONCE):
        part = list(places)[start : start + _AT_ONCE]
        for key, values in zip(part, await session.many([plain("HMGET", key, *_READ) for key in part]), strict=True):
            fields = {name: value for name, value in zip(_READ, values, strict=True) if value is not None}
            record = Record(*session.names.place_of(key), fields)
            # one that fails its flow stays among those that the flow waits for
            over = places[key] or ("failed" if "finishedOn" in fields else "")
            members.append(_Member(record, record.state(over) if over else None))
    return members


def _rolled_up(rollup: Mapping[str, Any], members: Sequence[_Member], *, going_on: bool) -> dict[str, Any]:
    """As the database does it: see rollup_progress.sql. `going_on`: what was given up counts as through."""
    ended = Counter(each.end for each in members)
    done: dict[str, float] = {}
    for each in members:
        phase = each.record.about.get("phase") or ""
        done[phase] = done.get(phase, 0.0) + (each.record.about.get("weight") or 1) * _share(each, going_on)
    phases = [(phase, min(done.get(phase["name"], 0.0), phase["weight"])) for phase in rollup["phases"]]
    shares = [through / phase["weight"] if phase["weight"] else 1.0 for phase, through in phases]
    under_way = [place for place, share in enumerate(shares) if share < _THROUGH]
    shown = under_way[0] if under_way else len(phases) - 1
    phase = rollup["phases"][shown]
    if "from" in phase:
        percent = phase["from"] + phase["span"] * shares[shown]
    else:
        spans = (phase["span"] * share for (phase, _), share in zip(phases, shares, strict=True))
        percent = (rollup.get("start") or 0) + sum(spans)
    good, bad, total = ended[JobState.SUCCEEDED], ended[JobState.FAILED] + ended[JobState.CANCELLED], rollup["total"]
    if parts := rollup.get("parts"):
        good, bad, total = _parts(parts, members)
    told = {"percent": min(100, round(percent, 2)), "done": good, "total": total}
    # who has spoken has begun: of several under way, the one that comes last
    said = [each.message for each in sorted(members, key=lambda each: each.record.id) if not each.end and each.message]
    also = {"phase": phase["name"], "failed": bad, "message": said[-1] if said else None}
    return told | {name: value for name, value in also.items() if value}


def _parts(parts: Mapping[str, int], members: Sequence[_Member]) -> tuple[int, int, int]:
    ends: dict[str, Counter[JobState | None]] = {part: Counter() for part in parts}
    for each in members:
        part = (each.record.about.get("options") or {}).get("part")
        if part in ends:
            ends[part][each.end] += 1
    lost = {part for part, of in ends.items() if of[JobState.FAILED] or of[JobState.CANCELLED]}
    through = [part for part, of in ends.items() if part not in lost and of[JobState.SUCCEEDED] == parts[part]]
    return len(through), len(lost), len(parts)


def _share(member: _Member, going_on: bool) -> float:
    if member.end is not None:
        return 1.0 if member.end is JobState.SUCCEEDED or going_on else 0.0
    return member.percent / 100
