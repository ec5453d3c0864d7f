"""Counts requests, for /metrics: by route, method and status, with how long they took."""

import time
from bisect import bisect_left
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STREAM = "/api/jobs/{id}/stream"
"""Open for as long as its job runs: its duration says nothing about the server."""


class Traffic:
    """Plain counters: a microsecond a request, where a labelled histogram of prometheus_client takes ten."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)
        self.buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self.requests[route, method, status] += 1
        if route != STREAM:
            self.seconds[route] += seconds
            self.buckets[route][bisect_left(BUCKETS, seconds)] += 1


class CountTraffic:
    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            # a path that no route has would be a label of its own for every scanner's guess
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._traffic.count(route, method, status, time.perf_counter() - started)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
