"""Node's BullMQ in a process of its own, on the queues of an application here."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kit.node import NODE, modules
from tests.kit.until import soon

_SCRIPT = Path(__file__).parent / "node" / "peer.mjs"


class Peer:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, command: str, **given: Any) -> Any:
        await self.send(command, **given)
        return (await self.hear())[command]

    async def send(self, command: str, **given: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **given}).encode() + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> Any:
        """The next thing that it says."""
        assert self.process.stdout is not None
        line = await soon(self.process.stdout.readline())
        assert line, "it has ended"
        return json.loads(line)


@asynccontextmanager
async def node(url: str, room: Path, queue: str = "default") -> AsyncIterator[Peer]:
    parts = urlsplit(url)
    room = room / "peer"
    room.mkdir(exist_ok=True)
    if not (room / "node_modules").exists():
        (room / "node_modules").symlink_to(await asyncio.to_thread(modules))
    script = shutil.copy(_SCRIPT, room)
    process = await asyncio.create_subprocess_exec(
        NODE, script, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={
            "PORT": str(parts.port), "PREFIX": parse_qs(parts.query).get("prefix", ["bull"])[0], "QUEUE": queue,
            "CLUSTER": "yes" if "cluster" in parts.scheme else "",
        },
    )  # fmt: skip
    try:
        yield Peer(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
