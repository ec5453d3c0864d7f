"""A push kind to a server of the test's own, and a job of it until it has ended."""

import base64
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock import Backoff, Handler, Job, JobFailed, Penstock
from tests.kit.fake_http import Answer, FakeServer, Request

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER = "whsec_" + base64.b64encode(bytes(32)).decode()
HERE = ["127.0.0.1"]
AT_ONCE = Backoff.constant(0)
SOON = 30.0


def answering(*answers: Answer) -> Callable[[Request], Answer]:
    """One after the other, and the last one for ever."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def pushed(app: Penstock, server: FakeServer, **options: Any) -> Handler[..., object]:
    chosen = {"secret": SECRET, "allow": HERE, "backoff": AT_ONCE, **options}
    return app.push("notify", server.at("127.0.0.1", "/hooks?token=t0ps3cret"), **chosen)


async def finished(handler: Handler[..., object], **args: Any) -> Job:
    handle = await handler.aenqueue(**args)
    with suppress(JobFailed):
        await handle.aresult(timeout=SOON)
    return await handle.arefresh()
