"""A program that has used a store ends as any other."""

import subprocess
import sys

PROGRAM = """
import asyncio
from obstore.store import MemoryStore
from penstock.storage.s3 import Objects

async def main() -> None:
    store = Objects(MemoryStore())
    await store.aput("a", b"x" * 100_000, content_type="text/plain", filename="a")
    await asyncio.gather(*(store.aopen("a") for _ in range(20)))

asyncio.run(main())
"""


def test_a_program_may_end_right_after_its_last_call() -> None:
    """Four at once, for it takes a machine with something to do: each third of them was aborted."""
    programs = [subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE) for _ in range(4)]
    ended = [(program.communicate()[1], program.returncode) for program in programs]
    assert ended == [(b"", 0)] * 4
