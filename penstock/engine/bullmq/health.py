"""What Redis says of itself, as far as jobs depend on it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.session import Session


@dataclass(frozen=True, slots=True)
class Health:
    """Of a cluster: of the node that was asked, and of the whole."""

    address: str
    server: str
    version: tuple[int, ...]
    tls: bool
    trip: float
    """Seconds of a round trip."""
    ahead: float
    """Seconds that its clock is ahead of this machine's."""
    policy: str
    memory: int
    max_memory: int
    appends: bool
    """Whether what was written is on disk, in a file that is appended to."""
    last_write: str
    cluster: str | None
    """How the cluster is, and how many slots nobody serves."""
    missing_slots: int = 0


async def look_at(own: Session) -> Health:
    trips = []
    for _ in range(5):
        began = time.perf_counter()
        await own.one(plain("EXISTS", own.names.own("queues")))
        trips.append(time.perf_counter() - began)
    said = await _asked(own, "info")
    before = time.time()
    seconds, micros = await _asked(own, "time")
    cluster = await _asked(own, "cluster_info") if own.address.cluster else None
    version = str(said.get("valkey_version") or said["redis_version"])
    return Health(
        address=own.address.shown, server="Valkey" if "valkey_version" in said else "Redis",
        version=tuple(int(part) for part in version.split(".")[:3] if part.isdigit()),
        tls=own.address.tls, trip=sorted(trips)[2], ahead=seconds + micros / 1e6 - before,
        policy=str(said.get("maxmemory_policy", "noeviction")), memory=int(said["used_memory"]),
        max_memory=int(said.get("maxmemory", 0)), appends=bool(int(said.get("aof_enabled", 0))),
        last_write=_last_write(said), cluster=cluster and str(cluster["cluster_state"]),
        missing_slots=16384 - int(cluster["cluster_slots_ok"]) if cluster else 0,
    )  # fmt: skip


async def _asked(session: Session, method: str) -> Any:
    """Of one node: a cluster's client may ask several."""
    of_one = {"target_nodes": session.client.get_default_node()} if session.address.cluster else {}
    return await getattr(session.client, method)(**of_one)


def _last_write(said: Mapping[str, Any]) -> str:
    """ "ok", or what went wrong."""
    for name in ("aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"):
        if (status := str(said.get(name, "ok"))) != "ok":
            return f"{name} is {status}"
    return "ok"
