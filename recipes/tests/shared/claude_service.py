"""What Anthropic's API answers, for a server on loopback that speaks it."""

import json
from collections.abc import Callable

from tests.kit.fake_http import Answer, Request

_JSON = {"Content-Type": "application/json"}


def answering(content: list[dict[str, object]], stop_reason: str) -> Answer:
    told = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 900},
    }
    return Answer(200, json.dumps(told).encode(), _JSON)


def refusing(status: int, kind: str, **headers: str) -> Answer:
    told = {"type": "error", "error": {"type": kind, "message": kind}}
    return Answer(status, json.dumps(told).encode(), {**_JSON, **headers})


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    left = iter(answers)
    return lambda _: next(left)
