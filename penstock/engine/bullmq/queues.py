"""Queues: which there are, what they are told, and how much is in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot

_KNOWN_SETTINGS = {"paused", "max_running", "rate", "rate_period", "backoff", "parked_timeout"}
_BY_KEY = {"max_running_per_key", "rate_per_key", "fair_by"}


async def meet(session: Session, queues: Sequence[str]) -> None:
    """So that whoever looks at all queues knows of these."""
    new = set(queues) - session.known_queues
    if new:
        await session.one(plain("SADD", session.names.own("queues"), *new))
        session.known_queues |= new


async def known_queues(session: Session) -> list[str]:
    return sorted(await session.one(plain("SMEMBERS", session.names.own("queues"))))


async def set_queue(session: Session, asked: c.SetQueue) -> None:
    refuse_settings(asked.name, asked.settings)
    await meet(session, [asked.name])
    keys = session.keys(asked.name)
    key = session.names.own("settings")
    settings: dict[str, Any] = msgspec.json.decode(await session.one(plain("HGET", key, asked.name)) or "{}")
    settings |= asked.settings
    settings = {name: value for name, value in settings.items() if value is not None}
    todo = [plain("HSET", key, asked.name, msgspec.json.encode(settings))]
    if "paused" in asked.settings:
        todo.append(calls.pause(keys, bool(asked.settings["paused"])))
    limits = {
        "concurrency": settings.get("max_running"), "max": settings.get("rate"),
        "duration": int(float(settings.get("rate_period") or 1) * 1000) if settings.get("rate") else None,
    }  # fmt: skip
    for name, value in limits.items():
        todo.append(plain("HDEL", keys["meta"], name) if value is None else plain("HSET", keys["meta"], name, value))
    await session.many([*todo, calls.nudge(keys)])


def refuse_settings(name: str, settings: Mapping[str, Any]) -> None:
    for setting, value in settings.items():
        if setting not in _KNOWN_SETTINGS and value is not None and (setting, value) != ("keep", "all"):
            raise EngineCannot(
                "key_limits" if setting in _BY_KEY else "queue_settings",
                f"queue {name!r} has {setting}, which BullMQ has no equal of: take it away, or keep this queue's jobs "
                "in Postgres",
            )


async def declare_queues(session: Session, asked: c.DeclareQueues) -> None:
    key = session.names.own("declared")
    for name, settings in asked.queues.items():
        said = msgspec.json.encode(settings, order="deterministic").decode()
        before = await session.one(plain("HGET", key, name))
        if before != said:
            earlier = dict.fromkeys(msgspec.json.decode(before or "{}"))
            await set_queue(session, c.SetQueue(name, earlier | dict(settings)))
            await session.one(plain("HSET", key, name, said))


async def settings_of(session: Session, queue: str) -> dict[str, Any]:
    text = await session.one(plain("HGET", session.names.own("settings"), queue))
    found: dict[str, Any] = msgspec.json.decode(text or "{}")
    return found


async def look_again_in(session: Session, queue: str) -> float | None:
    """Seconds, where a rate holds; infinity when there is one and nothing to do."""
    keys = session.keys(queue)
    most, waiting, prioritized, ttl = await session.many(
        [
            plain("HGET", keys["meta"], "max"), plain("LLEN", keys["wait"]), plain("ZCARD", keys["prioritized"]),
            plain("PTTL", keys["limiter"]),
        ]
    )  # fmt: skip
    if most is None:
        return None
    return max(float(ttl), 100.0) / 1000 if waiting or prioritized else float("inf")


async def queue_of(session: Session, queue: str) -> c.Queue:
    keys = session.keys(queue)
    wait, held, prioritized, delayed, blocked, active, paused, oldest, first = await session.many(
        [
            plain("LLEN", keys["wait"]), plain("LLEN", keys["paused"]), plain("ZCARD", keys["prioritized"]),
            plain("ZCARD", keys["delayed"]), plain("ZCARD", keys["waiting-children"]), plain("LLEN", keys["active"]),
            plain("HEXISTS", keys["meta"], "paused"), plain("LINDEX", keys["wait"], -1),
            plain("ZRANGE", keys["prioritized"], 0, 0),
        ]
    )  # fmt: skip
    ready = int(wait) + int(held) + int(prioritized)
    front = oldest or (first[0] if first else None)
    since = await session.one(plain("HGET", keys[front], "timestamp")) if front else None
    settings = {name: value for name, value in (await settings_of(session, queue)).items() if name != "paused"}
    return c.Queue(
        name=queue, paused=bool(paused), settings=settings, blocked=int(blocked),
        scheduled=int(delayed), ready=ready, running=int(active),
        oldest_ready_seconds=max(0.0, (calls.now_ms() - float(since)) / 1000) if since else None,
    )  # fmt: skip


async def backlog(session: Session, asked: c.Backlog) -> list[c.QueueBacklog]:
    queues = [await queue_of(session, name) for name in asked.queues]
    return [
        c.QueueBacklog(each.name, min(each.ready, asked.most), each.running, each.oldest_ready_seconds)
        for each in queues
        if not each.paused
    ]
