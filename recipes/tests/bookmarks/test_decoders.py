"""Strangers' pictures and PDFs: whatever their programs do, it costs one attempt and never the worker."""

from pathlib import Path
from typing import Any

import pytest

from penstock import PenstockError
from penstock.sandbox import Limits
from penstock_recipes.bookmarks.decoders import read_file
from penstock_recipes.bookmarks.failures import PageFailed

HOSTILE = Path(__file__).parents[3] / "tests" / "sandbox" / "hostile.py"
MISSING = HOSTILE.with_name("missing.py")


async def run(function: str, data: bytes = b"abc", limits: Limits | None = None) -> tuple[Any, bytes]:
    return await read_file(HOSTILE, function, data, dict, {}, limits or Limits(wall=60))


@pytest.mark.parametrize(
    ("function", "limits", "words"),
    [
        ("crash", None, "broke the program"),
        ("babble", None, "broke the program"),
        ("sleep", Limits(wall=0.5), "too long"),
        ("flood", Limits(wall=60, output=1_000_000), "too large"),
        ("refuse", None, "It says so itself"),
        ("fail", None, "^The file is damaged$"),
    ],
)
async def test_what_goes_wrong_is_told_to_whoever_bookmarked_it(
    function: str, limits: Limits | None, words: str
) -> None:
    with pytest.raises(PageFailed, match=words):
        await run(function, limits=limits)


async def test_facts_of_another_shape_are_not_believed() -> None:
    with pytest.raises(PageFailed, match="broke the program"):
        await read_file(HOSTILE, "echo", b"abc", list)


async def test_a_file_that_is_too_large_is_not_begun() -> None:
    with pytest.raises(PageFailed, match="larger than 64 MB"):
        await run("echo", bytes(64 * 1024 * 1024 + 1))


async def test_a_library_that_is_not_there_says_what_to_install() -> None:
    with pytest.raises(PenstockError, match=r"no_such_decoder: pip install 'penstock-recipes\[bookmarks\]'") as failed:
        await read_file(MISSING, "any", b"", dict)
    assert not isinstance(failed.value, PageFailed)
