"""What so many clients need, from what each thing costs: the formula of docs/scale.md."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BUSY = 0.6
"""How busy a core may be on average, for answers to stay quick."""


@dataclass(frozen=True)
class Habit:
    """How clients follow their jobs. `watching` is the share of them that do so at one time."""

    label: str
    watching: float
    every: float
    """Seconds between polls, or between the updates of a stream."""
    streams: bool
    lasts: float = 300.0
    """Seconds that a job is followed: each begins with a start, and a stream is opened."""


DAY = 86_400.0
HABITS = (
    Habit("all follow a job at once, polling every second", 1.0, 1.0, streams=False),
    Habit("all at once, polling every 5 s", 1.0, 5.0, streams=False),
    Habit("all at once, polling every 30 s", 1.0, 30.0, streams=False),
    Habit("all at once, by streams, an update every 10 s", 1.0, 10.0, streams=True),
    Habit("each a job of 5 minutes a day, polling every second", 300 / DAY, 1.0, streams=False),
    Habit("each a job of 5 minutes a day, by streams, an update every 10 s", 300 / DAY, 10.0, streams=True),
)
KEPT_FOR = 5.0
"""Seconds that the server keeps a connection without a request (idle_timeout): who asks less often connects anew."""


@dataclass(frozen=True)
class Needs:
    requests_per_s: float
    connections: float
    api_cores: float
    api_processes: int
    api_gb: float
    postgres_cores: float


def needs(clients: int, habit: Habit, costs: Mapping[str, Any]) -> Needs:
    """`costs` as bench/results/clients.json has them: microseconds of CPU, kilobytes of memory."""
    following = clients * habit.watching
    begun = following / habit.lasts
    api = begun * costs["start"]["api_us"]
    postgres = begun * costs["start"]["postgres_us"]
    if habit.streams:
        stream = costs["stream"]
        told = following / habit.every
        api += begun * stream["open_api_us"] + told * stream["update_api_us"] + following * stream["idle_api_us"]
        postgres += begun * stream["open_postgres_us"] + told * stream["update_postgres_us"]
        requests, connections, kilobytes = 2 * begun, following, stream["kb"]
    else:
        poll = costs["poll" if habit.every < KEPT_FOR else "poll_new_connection"]
        polls = following / habit.every
        api += polls * poll["api_us"]
        postgres += polls * poll["postgres_us"]
        requests = begun + polls
        connections = following if habit.every < KEPT_FOR else polls
        kilobytes = costs["poll"]["kb"]
    cores = api / 1e6 / BUSY
    processes = max(1, math.ceil(cores), math.ceil(connections / costs["connections_per_process"]))
    memory = processes * costs["process_mb"] / 1024 + connections * kilobytes / 2**20
    return Needs(requests, connections, cores, processes, memory, postgres / 1e6 / BUSY)


def table(clients: int, costs: Mapping[str, Any], habits: Sequence[Habit] = HABITS) -> str:
    lines = [
        f"| {clients:,} clients | requests/s | connections | API cores | processes | API memory | Postgres cores |",
        "|---|---|---|---|---|---|---|",
    ]
    for habit in habits:
        need = needs(clients, habit, costs)
        lines.append(
            f"| {habit.label} | {need.requests_per_s:,.0f} | {need.connections:,.0f} | {need.api_cores:,.1f} |"
            f" {need.api_processes:,} | {need.api_gb:,.1f} GB | {need.postgres_cores:,.1f} |"
        )
    return "\n".join(lines)
