"""What Redis is asked for, as values: commands, and calls of the Lua scripts of BullMQ's package."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from penstock.engine.bullmq.names import QueueKeys


@dataclass(frozen=True, slots=True)
class RedisCall:
    """A Redis command, or with `script` a call of one that is loaded under that name."""

    words: Sequence[Any]
    script: str | None = None


def plain(*words: Any) -> RedisCall:
    return RedisCall(words)


def _script(name: str, keys: Sequence[str], *args: Any) -> RedisCall:
    return RedisCall((len(keys), *keys, *args), name)


def now_ms() -> int:
    return round(time.time() * 1000)


def _pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


@dataclass(frozen=True, slots=True)
class Addition:
    """A job for a queue. `opts` as BullMQ stores them; `parent` is the key of the job that waits for this one."""

    keys: QueueKeys
    id: str
    name: str
    data: bytes
    opts: Mapping[str, Any]
    timestamp: int
    waits: bool = False
    """For children of its own."""
    parent: tuple[QueueKeys, str] | None = None

    def call(self) -> RedisCall:
        keys, opts, parent, above = self.keys, self.opts, None, None
        if self.parent is not None:
            queue, id = self.parent
            above = queue[id]
            parent = {"id": id, "queueKey": queue.name} | {flag: True for flag in ("fpof", "idof") if opts.get(flag)}
        unique = opts.get("de")
        described = _pack(
            [
                keys.base, self.id, self.name, self.timestamp, above, above and f"{above}:dependencies", parent, None,
                unique and f"{keys.base}de:{unique['id']}",
            ]
        )  # fmt: skip
        args = (described, self.data, _pack(opts))
        if self.waits:
            parts = keys.all("meta", "id", "delayed", "waiting-children", "completed", "events")
            return _script("addParentJob", parts, *args)
        if opts.get("delay"):
            return _script("addDelayedJob", keys.all("marker", "meta", "id", "delayed", "completed", "events"), *args)
        if opts.get("priority"):
            parts = keys.all("marker", "meta", "id", "prioritized", "delayed", "completed", "active", "events", "pc")
            return _script("addPrioritizedJob", parts, *args)
        parts = keys.all("wait", "paused", "meta", "id", "completed", "delayed", "active", "events", "marker")
        return _script("addStandardJob", parts, *args)


def take_next(keys: QueueKeys, token: str, lock_ms: int) -> RedisCall:
    parts = keys.all(
        "wait", "active", "prioritized", "events", "stalled", "limiter", "delayed", "paused", "meta", "pc", "marker"
    )
    return _script(
        "moveToActive", parts, keys.base, now_ms(), _pack({"token": token, "lockDuration": lock_ms, "limiter": None})
    )


def take_this(keys: QueueKeys, id: str, token: str, lock_ms: int) -> RedisCall:
    """Ours: a job that has not started, out of whatever it waits in, into these hands."""
    parts = keys.all("wait", "paused", "delayed", "prioritized", "waiting-children", "active")
    return _script("takeThis", [*parts, keys[id], keys.lock(id)], id, token, lock_ms)


def put_aside(keys: QueueKeys, place: str, id: str, moving: str) -> RedisCall:
    """Ours: a job that is to move elsewhere, out of where it waits; `moving` is the list of those, and a field."""
    return _script("putAside", [*keys.all(place, "waiting-children", moving), keys[id]], id, place, moving, now_ms())


def put_back(keys: QueueKeys, id: str, moving: str) -> RedisCall:
    """Ours: one that is not to move after all, back to where it waited."""
    parts = keys.all(moving, "waiting-children", "wait", "prioritized", "delayed", "marker")
    return _script("putBack", [keys[id], *parts], id, moving)


def finish(
    keys: QueueKeys, id: str, token: str, *, failed: bool, said: bytes | str, keep: Any, attempts: int,
    fields: Mapping[str, Any] | None = None,
) -> RedisCall:  # fmt: skip
    target = "failed" if failed else "completed"
    parts = keys.all(
        "wait", "active", "prioritized", "events", "stalled", "limiter", "delayed", "paused", "meta", "pc", target, id,
        f"metrics:{target}", "marker",
    )  # fmt: skip
    about = {"token": token, "keepJobs": keep, "attempts": attempts, "maxMetricsSize": "", "lockDuration": 0}
    args = (id, now_ms(), "failedReason" if failed else "returnvalue", said, target, "", keys.base, _pack(about))
    return _script("moveToFinished", parts, *args, *([_fields(fields)] if fields else []))


def delay(
    keys: QueueKeys, id: str, token: str, ms: int, *, counts: bool, fields: Mapping[str, Any] | None = None
) -> RedisCall:
    """Back for later; `counts`: as an attempt."""
    parts = keys.all(
        "marker", "active", "prioritized", "delayed", id, "events", "meta", "stalled", "wait", "limiter", "pc"
    )
    args = (keys.base, now_ms(), id, token, ms, "0" if counts else "1", _fields(fields) if fields else "", "0")
    return _script("moveToDelayed", parts, *args)


def retry(keys: QueueKeys, id: str, token: str, fields: Mapping[str, Any] | None = None) -> RedisCall:
    """Back into the queue at once, the attempt counted."""
    parts = keys.all(
        "active", "wait", "paused", id, "meta", "events", "delayed", "prioritized", "pc", "marker", "stalled"
    )
    return _script("retryJob", parts, keys.base, now_ms(), "LPUSH", id, token, *([_fields(fields)] if fields else []))


def give_back(keys: QueueKeys, id: str, token: str) -> RedisCall:
    """Back into the queue at once, at no cost of an attempt."""
    parts = keys.all("active", "wait", "stalled", "paused", "meta", "limiter", "prioritized", "marker", "events")
    return _script("moveJobFromActiveToWait", parts, id, token, keys[id])


def promote(keys: QueueKeys, id: str) -> RedisCall:
    parts = keys.all("delayed", "wait", "paused", "meta", "prioritized", "active", "pc", "events", "marker")
    return _script("promote", parts, keys.base, id)


def reprocess(keys: QueueKeys, id: str, state: str) -> RedisCall:
    """An ended job again, with a fresh budget of attempts."""
    parts = keys.all(id, "events", state, "wait", "meta", "active", "marker", "prioritized", "pc")
    field = "failedReason" if state == "failed" else "returnvalue"
    return _script("reprocessJob", parts, id, "LPUSH", field, state, "1", "0")


def state_of(keys: QueueKeys, id: str) -> RedisCall:
    parts = keys.all("completed", "failed", "delayed", "active", "wait", "paused", "waiting-children", "prioritized")
    return _script("getStateV2", parts, id, keys[id])


def report(keys: QueueKeys, id: str, progress: bytes) -> RedisCall:
    return _script("updateProgress", [keys[id], *keys.all("events", "meta")], id, progress)


def extend(keys: QueueKeys, ids: Sequence[str], tokens: Sequence[str], lock_ms: int) -> RedisCall:
    return _script("extendLocks", [keys["stalled"]], keys.base, _pack(list(tokens)), _pack(list(ids)), lock_ms)


def move_stalled(keys: QueueKeys, every_ms: int) -> RedisCall:
    parts = keys.all("stalled", "wait", "active", "stalled-check", "meta", "paused", "marker", "events", "repeat")
    return _script("moveStalledJobsToWait", parts, 1, keys.base, now_ms(), every_ms)


def pause(keys: QueueKeys, paused: bool) -> RedisCall:
    source, target = ("wait", "paused") if paused else ("paused", "wait")
    parts = keys.all(source, target, "meta", "prioritized", "events", "delayed", "marker")
    return _script("pause", parts, "paused" if paused else "resumed")


def remove(keys: QueueKeys, id: str) -> RedisCall:
    return _script("removeJob", [keys[id], keys["repeat"]], id, 0, keys.base)


def change_priority(keys: QueueKeys, id: str, priority: int) -> RedisCall:
    parts = keys.all("wait", "paused", "meta", "prioritized", "active", "pc", "marker")
    return _script("changePriority", parts, priority, keys.base, id, 0)


def nudge(keys: QueueKeys) -> RedisCall:
    """Wakes an idle worker, whoever's it is."""
    return plain("ZADD", keys["marker"], 0, "0")


def remember(keys: QueueKeys, id: str, token: str, *fields: Any) -> RedisCall:
    """Ours: fields of the job, as long as it is in these hands."""
    return _script("remember", [keys[id], keys.lock(id)], token, *fields)


def keep_lease(key: str, fields: Mapping[str, Any], *, lasts: bool) -> RedisCall:
    """Ours: what a worker says of itself, as long as its lease lives; `lasts`: which it does again from here."""
    return _script("keepLease", [key], "1" if lasts else "0", *[word for pair in fields.items() for word in pair])


def forget_claim(key: str, id: str, token: str) -> RedisCall:
    """Ours: a job is no longer what a lease holds by this claim."""
    return _script("forgetClaim", [key], id, token)


def wait_again(keys: QueueKeys, id: str, place: str, children: Sequence[str]) -> RedisCall:
    """Ours: a flow that has ended, back to those that wait for their children."""
    return _script("waitAgain", [keys[id], *keys.all(place, "waiting-children", "events")], id, now_ms(), *children)


def hold_key(keys: QueueKeys, id: str, unique: str) -> RedisCall:
    """Ours: the unique key of a job that has come back is its own again."""
    return _script("holdKey", [keys[id], unique], id)


def carry_on(keys: QueueKeys, id: str, name: str, said: int | str) -> RedisCall:
    """Ours: what a job has had before it came here, if it has come: attempts, snoozes, errors."""
    return _script("carryOn", [keys[id]], name, said)


def note_moved(keys: QueueKeys, id: str, seconds: int) -> RedisCall:
    """Ours: that a job was moved here, if it has come, for as long as the move may be taken up again."""
    return _script("noteMoved", [keys[id], moved_key(keys, id)], seconds)


def moved_key(keys: QueueKeys, id: str) -> str:
    return keys[f"ps:moved:{id}"]


def _fields(fields: Mapping[str, Any]) -> bytes:
    return _pack([word for pair in fields.items() for word in pair])
