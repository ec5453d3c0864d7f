"""A body that would hold everybody up, if each of its faults were told."""

import json
import time
from collections.abc import Awaitable, Callable

import httpx

MANY = {f"k{n}": 1 for n in range(70_000)}
"""Fields that nobody knows: 900 KB."""
_HELD = 0.5
"""Seconds of the processor, the client's own among them; a list of all the faults takes one and a half."""


async def assert_refused_in_short(
    post: Callable[..., Awaitable[httpx.Response]], path: str, body: object, status: int = 400
) -> None:
    sent = json.dumps(body, separators=(",", ":")).encode()
    began = time.process_time()
    answer = await post(path, content=sent, headers={"Content-Type": "application/json"})
    took = time.process_time() - began
    assert answer.status_code == status, answer.text[:500]
    assert len(answer.content) < 10_000
    assert len(answer.json()["errors"]) < 20, "not only told, but looked for no further"
    assert took < _HELD


async def assert_broken_json_names_the_body(
    post: Callable[..., Awaitable[httpx.Response]], path: str, status: int = 400
) -> None:
    answer = await post(path, content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    [error] = answer.json()["errors"]
    assert (error["field"], error["problem"].startswith("is not JSON")) == ("body", True)
