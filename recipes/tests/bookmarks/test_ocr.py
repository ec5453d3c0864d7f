"""Words are read out of pictures: offline, in order, and within bounds."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookmarks.pictures_made import card, png_that_says, saved
from penstock import Penstock, PenstockError
from penstock_recipes.bookmarks import install
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.providers import ocr
from penstock_recipes.bookmarks.providers.ocr import read_text


async def test_words_are_read_in_order_and_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, for loading the engine is what takes the time."""
    lines = ["Penstock, jobs on Postgres", "The quick brown fox 12345", "jumps over it"]
    words = saved(card(*lines, size=(900, 400)), "JPEG", quality=90)
    assert await read_text(words) == "\n".join(lines)
    assert await read_text(saved(card(size=(200, 150)))) == ""

    # left to itself, the library makes 736 × 29,440 pixels of the first: 50 seconds, 3.4 GB
    async with asyncio.timeout(60):
        assert await read_text(saved(card(size=(40, 1600)))) == ""
        assert await read_text(saved(card(size=(1600, 1)))) == ""

    monkeypatch.setattr(ocr, "MAX_LETTERS", 8)
    assert await read_text(words) == "Penstock"
    monkeypatch.setattr(ocr, "_SECONDS", 0.0)
    assert await read_text(words) == ""


async def test_what_is_no_picture_is_not_shown_to_the_engine() -> None:
    with pytest.raises(PageFailed, match="million pixels"):
        await read_text(png_that_says(50_000, 50_000))


def test_rows_are_read_from_the_top_and_within_them_from_the_left() -> None:
    def box(left: int, top: int, right: int, bottom: int) -> list[list[float]]:
        return [[left, top], [right, top], [right, bottom], [left, bottom]]

    found = [box(300, 12, 400, 42), box(10, 100, 90, 130), box(10, 10, 200, 40), box(120, 96, 200, 134)]
    assert [each[:2] for each in ocr.in_reading_order(found)] == [(10, 10), (300, 12), (10, 100), (120, 96)]


PROGRAM = """
import asyncio, json, os, sys

seen = []

def watch(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.bind"):
        seen.append([event, str(args[1:])])
    if event == "open" and isinstance(args[0], str) and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append([event, args[0]])

sys.addaudithook(watch)
from penstock_recipes.bookmarks.providers.ocr import read_text

text = asyncio.run(read_text(sys.stdin.buffer.read()))
sockets = [link for link in map(os.readlink, (f"/proc/self/fd/{fd}" for fd in (3, 4, 5, 6, 7, 8) if
    os.path.exists(f"/proc/self/fd/{fd}"))) if "socket" in link]
print(json.dumps({"text": text, "seen": seen, "sockets": sockets}))
"""


def read_in_a_process(folder: Path, first: str = "") -> "subprocess.CompletedProcess[bytes]":
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-B", "-c", f"{first}\n{PROGRAM}"],
        input=saved(card("Hello", size=(300, 200))),
        capture_output=True,
        timeout=100,
        cwd=Path(__file__).parents[3],
        env={**kept, "HOME": str(folder), "TMPDIR": str(folder)},
    )


def test_nothing_is_downloaded_reported_written_or_logged(tmp_path: Path) -> None:
    done = read_in_a_process(tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told == {"text": "Hello", "seen": [], "sockets": []}
    assert done.stderr == b""
    assert list(tmp_path.iterdir()) == []


def test_another_model_can_be_named_and_one_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing, other = tmp_path / "missing.onnx", tmp_path / "other.onnx"
    own = ocr.model_in_use()
    monkeypatch.setenv("BOOKMARKS_OCR_MODEL", str(missing))
    with pytest.raises(PenstockError, match=f"BOOKMARKS_OCR_MODEL: there is no file {missing}"):
        install(Penstock("postgresql://nowhere"))
    other.write_bytes(b"no model at all")
    monkeypatch.setenv("BOOKMARKS_OCR_MODEL", str(other))
    install(Penstock("postgresql://nowhere"))
    try:
        assert ocr.model_in_use() == str(other)
    finally:
        ocr.use_model(None)
    assert ocr.model_in_use() == own


def test_it_is_read_with_the_model_that_was_named(tmp_path: Path) -> None:
    """Which is none here, so that nothing is read."""
    (other := tmp_path / "other.onnx").write_bytes(b"no model at all")
    done = read_in_a_process(
        tmp_path, f"from penstock_recipes.bookmarks.providers.ocr import use_model; use_model({str(other)!r})"
    )
    assert done.returncode != 0
    assert str(other) in done.stderr.decode()
