"""From the attacker's side: whoever takes over a sandboxed program has its memory, and what it was given."""

import os
import socket
from pathlib import Path

import pytest

from penstock.sandbox import Limits, call

pytestmark = pytest.mark.root

HOSTILE = Path(__file__).with_name("hostile.py")
LIMITS = Limits(wall=60, cpu=20, memory=1024**3)


async def test_nothing_can_be_reached_from_within(tmp_path: Path) -> None:
    # all that file permissions could forbid is allowed
    os.chmod(tmp_path, 0o777)  # noqa: PTH101
    victim = tmp_path / "file"
    victim.write_bytes(b"ours")
    victim.chmod(0o666)
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = {"victim": str(victim), "worker": os.getpid(), "port": server.getsockname()[1]}
        answer = await call(HOSTILE, "attack", LIMITS, asked=asked)
    assert answer.facts["reached"] == []
    assert victim.read_bytes() == b"ours"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


@pytest.mark.parametrize("locked", [True, False])
async def test_it_has_no_secrets_and_no_descriptors(locked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://a-password@here")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    ours, theirs = os.pipe()
    try:
        for each in (ours, theirs):
            os.set_inheritable(each, True)
        answer = await call(HOSTILE, "look_around", LIMITS, locked=locked)
    finally:
        for each in (ours, theirs):
            os.close(each)
    environment = set(answer.facts.pop("environment")) - {"LC_CTYPE", "LD_LIBRARY_PATH"}
    assert environment == set()
    assert answer.facts["descriptors"] == [0, 1, 2]
    assert not any("a-password" in word for word in answer.facts["argv"])
