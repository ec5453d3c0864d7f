"""What `penstock doctor` asks of Redis, where the jobs are in BullMQ's queues."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from penstock.app import Penstock
from penstock.cli.doctor_database import FAR, SKEW, Finding
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.engine.bullmq.engine import BullmqEngine
    from penstock.engine.bullmq.health import Health

OLDEST = {"Redis": (6, 2), "Valkey": (7, 2)}
"""BullMQ asks for these, of which its scripts need commands."""
CROWDED = 0.8


def look(app: Penstock) -> Iterator[Finding]:
    """Nothing more can be asked when what it says first is bad."""
    try:
        health = cast("BullmqEngine", getattr(app.engine, "jobs", app.engine)).health()
    except (PenstockError, OSError) as error:
        advice = "is the address right (PENSTOCK_JOBS_URL, --database-url), does it run, may this machine reach it?"
        yield Finding("bad", "connection", " ".join(str(error).split()), advice)
        return
    yield from _server(health)
    for check in (_eviction, _persistence, _cluster, _clock):
        yield from check(health)


def _server(health: "Health") -> Iterator[Finding]:
    number = ".".join(map(str, health.version))
    secret = "over TLS" if health.tls else "in plain text"
    text = f"{health.server} {number}, {health.address}, {secret}, {1000 * health.trip:.1f} ms away"
    oldest = OLDEST[health.server]
    if health.version < oldest:
        yield Finding("bad", "redis", text, f"BullMQ needs {health.server} {'.'.join(map(str, oldest))} or newer")
    elif health.trip > FAR:
        yield Finding("warning", "redis", text, "run workers nearer to it: each claim and report is a trip")
    else:
        yield Finding("ok", "redis", text)
    yield Finding("ok", "packages", f"penstock {version('penstock')}, bullmq {version('bullmq')}")


def _eviction(health: "Health") -> Iterator[Finding]:
    used = f"{health.memory / 1e6:,.0f} MB used"
    if health.policy != "noeviction":
        text = f"maxmemory-policy is {health.policy}: when memory is short, jobs are deleted"
        yield Finding("bad", "memory", text, "config set maxmemory-policy noeviction, and in its configuration")
    elif health.max_memory and health.memory > CROWDED * health.max_memory:
        text = f"{used} of {health.max_memory / 1e6:,.0f} MB: when it is full, nothing can be enqueued"
        yield Finding("warning", "memory", text, "more maxmemory, or keep fewer ended jobs: penstock jobs purge")
    else:
        most = f" of {health.max_memory / 1e6:,.0f} MB" if health.max_memory else ", no maxmemory"
        yield Finding("ok", "memory", f"noeviction, {used}{most}")


def _persistence(health: "Health") -> Iterator[Finding]:
    if health.last_write != "ok":
        yield Finding("bad", "persistence", f"{health.last_write}: is the disk full?", "look into the log of Redis")
    elif health.appends:
        yield Finding("ok", "persistence", "appends to a file what is written")
    else:
        text = "appendonly is off: a restart loses what came since the last snapshot, or all"
        yield Finding("warning", "persistence", text, "config set appendonly yes, and in its configuration")


def _cluster(health: "Health") -> Iterator[Finding]:
    if health.cluster is None:
        return
    if health.cluster != "ok" or health.missing_slots:
        text = f"the cluster is {health.cluster}, and {health.missing_slots} of its slots have no node"
        yield Finding("bad", "cluster", text, "bring the lost nodes back, or their replicas to the fore: cluster nodes")
    else:
        yield Finding("ok", "cluster", "every slot has its node")


def _clock(health: "Health") -> Iterator[Finding]:
    """Delays and locks are by the clocks of whoever writes them."""
    if abs(health.ahead) > SKEW:
        side = "ahead of" if health.ahead > 0 else "behind"
        text = f"Redis is {abs(health.ahead):.0f} s {side} this machine"
        yield Finding("warning", "clock", text, "set both by NTP: schedules and delays are as wrong as the clocks are")
    else:
        yield Finding("ok", "clock", "this machine and Redis agree")
