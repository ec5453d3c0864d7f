"""A worker's calls as requests to the API, by their name, and their answers as what the database would have given."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec

from penstock.engine.call import Call
from penstock.engine.calls import Backlog, Extended
from penstock.engine.http import messages
from penstock.engine.http.errors import no_database
from penstock.job import ClaimedJob, JobState, Lease, NewJob
from penstock.json import loads

T = TypeVar("T")

_BYTES_AT_ONCE = 512 * 1024
"""Of a request's body, of which the server takes 1 MiB by default."""


@dataclass(frozen=True, slots=True)
class Request:
    """`kept` is how many seconds the server may keep the answer back on purpose."""

    method: str
    path: str
    body: bytes | None = None
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """Requests, one after another, and how to read their answers."""

    requests: Sequence[Request]
    read: Callable[[Sequence[bytes]], T]


_encode = msgspec.json.Encoder().encode


def exchange_for(call: Call[T]) -> Exchange[T]:
    """How to have the API run this call."""
    make = _EXCHANGES.get(call.name)
    if make is None:
        raise no_database(f"`{call.text.split('(')[0].removeprefix('select ')}`")
    exchange: Exchange[T] = make(*call.given)
    return exchange


def beat(lease: Lease, *, queues: Sequence[str], told: Iterable[UUID], wait: float) -> Exchange[messages.Beat]:
    """A heartbeat whose answer is kept back until there is something to tell."""
    body = _encode({"wait": wait, "queues": queues, "told": list(told)})
    return _one(Request("POST", f"/api/work/leases/{lease}/heartbeat", body, kept=wait), _reader(messages.Beat))


def complete_with(
    lease: Lease,
    job: ClaimedJob,
    output: bytes | None,
    further: Sequence[NewJob],
    report: Mapping[str, Any] | None = None,
) -> Exchange[bool]:
    body = {"lease": lease, "jobs": [_completed(job, output)], "enqueue": [_camel(each.to_json()) for each in further]}
    read = _reader(messages.Fates)
    last_words = _report_progress(lease, [job], [report]).requests if report else []
    completion = Request("POST", "/api/work/complete", _encode(body))
    return Exchange([*last_words, completion], lambda answers: read(answers[-1]).jobs[0].accepted)


def _one(request: Request, read: Callable[[bytes], T]) -> Exchange[T]:
    return Exchange([request], lambda answers: read(answers[0]))


def _reader(kind: type[T]) -> Callable[[bytes], T]:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return decoder.decode


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


# Leases.


def _open_lease(
    worker: str, seconds: float | None, queues: Sequence[str], host: str | None, pid: int | None,
    kinds: Sequence[str] | None,
) -> Exchange[Lease]:  # fmt: skip
    body = {
        "worker": worker, "seconds": seconds, "queues": list(queues), "host": host, "pid": pid, "kinds": kinds,
    }  # fmt: skip
    read = _reader(messages.Opened)
    return _one(Request("POST", "/api/work/leases", _encode(body)), lambda answer: Lease(read(answer).lease))


def _extend_lease(lease: Lease) -> Exchange[Extended]:
    exchange = beat(lease, queues=(), told=(), wait=0)
    return Exchange(exchange.requests, lambda answers: extended(exchange.read(answers)))


def extended(told: messages.Beat) -> Extended:
    # what happens now and then is the server's business: a worker over the API never leads
    return Extended(told.alive, told.cancelling, False, told.seconds)


def _close_lease(lease: Lease) -> Exchange[int]:
    return _one(Request("DELETE", f"/api/work/leases/{lease}"), _how_many)


def _expire_lease(lease: Lease) -> Exchange[int]:
    return _one(Request("DELETE", f"/api/work/leases/{lease}?dead=true"), _how_many)


def _how_many(answer: bytes) -> int:
    released = _reader(messages.Given)(answer).released
    return released if isinstance(released, int) else len(released)


# Finding work.


def _claim(lease: Lease, queue: str, limit: int, kinds: Sequence[str] | None) -> Exchange[list[ClaimedJob]]:
    body = {"lease": lease, "queue": queue, "limit": min(limit, messages.MOST_JOBS), "kinds": kinds}
    read = _reader(messages.Claimed)
    return _one(
        Request("POST", "/api/work/claim", _encode(body)), lambda answer: [job.claimed() for job in read(answer).jobs]
    )


def _release_unknown(lease: Lease, known: Sequence[UUID], seconds: float) -> Exchange[list[UUID]]:
    def read(answer: bytes) -> list[UUID]:
        released = _reader(messages.Given)(answer).released
        return [] if isinstance(released, int) else released

    body = {"lease": lease, "known": list(known), "seconds": seconds}
    return _one(Request("POST", "/api/work/release-unknown", _encode(body)), read)


def _wait_for_work(lease: Lease, queues: Sequence[str]) -> Exchange[float | None]:
    def read(answer: bytes) -> float | None:
        told = _reader(messages.Waits)(answer)
        return told.look_in if told.look_in is not None or not told.rated else float("inf")

    return _one(Request("PUT", f"/api/work/leases/{lease}/waiting", _encode({"queues": list(queues)})), read)


def _stop_waiting(lease: Lease, queues: Sequence[str] | None) -> Exchange[None]:
    named = "?" + urlencode([("queue", queue) for queue in queues]) if queues is not None else ""
    return _one(Request("DELETE", f"/api/work/leases/{lease}/waiting{named}"), _nothing)


def _wake(queue: str, jobs: int) -> Exchange[None]:
    return _one(Request("POST", "/api/work/wake", _encode({"queue": queue, "jobs": jobs})), _nothing)


def _backlog(queues: Sequence[str], most: int) -> Exchange[list[Backlog]]:
    named = urlencode([("queue", queue) for queue in queues] + [("most", str(most))])
    read = _reader(list[messages.Waiting])
    return _one(
        Request("GET", f"/api/work/backlog?{named}"),
        lambda answer: [Backlog(each.queue, each.ready, each.running, each.oldest_seconds) for each in read(answer)],
    )


def _nothing(_: bytes) -> None:
    return None


# What became of jobs.


def _complete(lease: Lease, jobs: Sequence[ClaimedJob], outputs: Sequence[bytes | None]) -> Exchange[list[UUID]]:
    given = outputs or [None] * len(jobs)
    about = [_completed(job, output) for job, output in zip(jobs, given, strict=True)]
    return _about("complete", lease, about, lambda fates: [fate.id for fate in fates if not fate.accepted])


def _completed(job: ClaimedJob, output: bytes | None) -> dict[str, object]:
    held: dict[str, object] = {"id": job.id, "claims": job.claims}
    return held if output is None else held | {"output": msgspec.Raw(output)}


Became = dict[UUID, tuple[JobState, datetime | None]]


def _fail(lease: Lease, jobs: Sequence[ClaimedJob], errors: Sequence[Mapping[str, Any]]) -> Exchange[Became]:
    about = [{"id": job.id, "claims": job.claims, **_camel(error)} for job, error in zip(jobs, errors, strict=True)]
    return _about("fail", lease, about, _became)


def _snooze(lease: Lease, jobs: Sequence[ClaimedJob], seconds: Sequence[float]) -> Exchange[Became]:
    about = [{"id": job.id, "claims": job.claims, "seconds": each} for job, each in zip(jobs, seconds, strict=True)]
    return _about("snooze", lease, about, _became)


def _park(lease: Lease, jobs: Sequence[ClaimedJob], reasons: Sequence[str]) -> Exchange[Became]:
    about = [{"id": job.id, "claims": job.claims, "reason": each} for job, each in zip(jobs, reasons, strict=True)]
    return _about("park", lease, about, _became)


def _became(fates: Sequence[messages.Fate]) -> Became:
    return {fate.id: (fate.state, fate.run_at) for fate in fates if fate.state is not None}


def _release(lease: Lease, jobs: Sequence[ClaimedJob]) -> Exchange[list[UUID]]:
    return _about("release", lease, [{"id": job.id, "claims": job.claims} for job in jobs], _accepted)


def _stop_cancelled(lease: Lease, jobs: Sequence[ClaimedJob], reason: str) -> Exchange[list[UUID]]:
    about = [{"id": job.id, "claims": job.claims, "reason": reason} for job in jobs]
    return _about("cancelled", lease, about, _accepted)


def _accepted(fates: Sequence[messages.Fate]) -> list[UUID]:
    return [fate.id for fate in fates if fate.accepted]


def _report_progress(
    lease: Lease, jobs: Sequence[ClaimedJob], reports: Sequence[Mapping[str, Any]]
) -> Exchange[dict[UUID, bool]]:
    about = [{"id": job.id, "claims": job.claims, **report} for job, report in zip(jobs, reports, strict=True)]

    def told(fates: Sequence[messages.Fate]) -> dict[UUID, bool]:
        return {fate.id: bool(fate.cancel_requested) for fate in fates if fate.accepted}

    return _about("progress", lease, about, told)


def _about(
    what: str, lease: Lease, jobs: Sequence[Mapping[str, object]], read: Callable[[Sequence[messages.Fate]], T]
) -> Exchange[T]:
    """Something about many jobs, in as many requests as its size takes."""

    def read_all(answers: Sequence[bytes]) -> T:
        decode = _reader(messages.Fates)
        return read([fate for answer in answers for fate in decode(answer).jobs])

    parts: list[list[bytes]] = [[]]
    size = 0
    for job in jobs:
        encoded = _encode(job)
        if parts[-1] and (size + len(encoded) > _BYTES_AT_ONCE or len(parts[-1]) == messages.MOST_JOBS):
            parts.append([])
            size = 0
        parts[-1].append(encoded)
        size += len(encoded)
    head = b'{"lease":%d,"jobs":[' % lease
    return Exchange([Request("POST", f"/api/work/{what}", head + b",".join(part) + b"]}") for part in parts], read_all)


# What belongs to one job.


def _remember_step(lease: Lease, job: ClaimedJob, name: str, output: bytes) -> Exchange[bool]:
    read = _reader(messages.Accepted)
    path = f"/api/work/jobs/{job.id}/steps/{quote(name, safe='')}?lease={lease}&claims={job.claims}"
    return _one(Request("PUT", path, output), lambda answer: read(answer).accepted)


Held = tuple[Lease, int]


def _recall_steps(job: UUID, held: Held) -> Exchange[dict[str, Any]]:
    return _one(Request("GET", f"/api/work/jobs/{job}/steps?lease={held[0]}&claims={held[1]}"), loads)


def _outputs(job: UUID, held: Held) -> Exchange[list[dict[str, Any]]]:
    read = _reader(list[messages.Earlier])

    def plain(answer: bytes) -> list[dict[str, Any]]:
        return [
            {"id": each.id, "name": each.name, "kind": each.kind, "phase": each.phase, "state": each.state,
             "args": loads(bytes(each.args)), "output": loads(bytes(each.output))}
            for each in read(answer)
        ]  # fmt: skip

    return _one(Request("GET", f"/api/work/jobs/{job}/outputs?lease={held[0]}&claims={held[1]}"), plain)


def _camel(document: Mapping[str, Any]) -> dict[str, Any]:
    """With its own names as the API spells them; what is inside stays as it is."""
    return {_spell(name): value for name, value in document.items()}


def _spell(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


_EXCHANGES: dict[str, Callable[..., Exchange[Any]]] = {
    "open_lease": _open_lease,
    "extend_lease": _extend_lease,
    "close_lease": _close_lease,
    "expire_lease": _expire_lease,
    "claim": _claim,
    "release_unknown": _release_unknown,
    "wait_for_work": _wait_for_work,
    "stop_waiting": _stop_waiting,
    "wake": _wake,
    "backlog": _backlog,
    "complete": _complete,
    "fail": _fail,
    "snooze": _snooze,
    "park": _park,
    "release": _release,
    "stop_cancelled": _stop_cancelled,
    "report_progress": _report_progress,
    "remember_step": _remember_step,
    "recall_steps": _recall_steps,
    "outputs": _outputs,
}
