"""Strangers' pictures and PDFs are opened in a sandbox: they may crash, swell or never end there."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from penstock import PenstockError
from penstock.sandbox import Limits, ProgramFailed, Reason, Slots, call
from penstock_recipes.bookmarks.failures import NotThere, PageFailed

log = logging.getLogger(__name__)
Facts = TypeVar("Facts")

PICTURES = Path(__file__).with_name("picture.py")
PDFS = Path(__file__).with_name("pdf.py")
LIMITS = Limits(cpu=10, wall=30, memory=1024**3)
MAX_BYTES = 64 * 1024**2
_slots = Slots()
_TOLD = {
    Reason.RAISED: "The file is damaged",
    Reason.CRASHED: "The file broke the program that reads it",
    Reason.TIMEOUT: "The file took too long to read",
    Reason.CPU: "The file took too long to read",
    Reason.MEMORY: "The file takes too much memory to open",
    Reason.OUTPUT: "The file becomes too large when it is opened",
}


async def read_file(
    program: Path,
    function: str,
    data: bytes,
    facts: type[Facts],
    asked: Mapping[str, object] | None = None,
    limits: Limits = LIMITS,
) -> tuple[Facts, bytes]:
    """What a function of a program's says about the data, and the bytes that it made of them. PageFailed if it could
    not: a NotThere, unless the machine was too busy. Whatever went wrong, this process goes on."""
    if len(data) > MAX_BYTES:
        raise NotThere(f"The file is larger than {MAX_BYTES // 1024**2} MB")
    async with _slots:
        try:
            answer = await call(program, function, limits, data=data, asked=asked)
            return answer.read(facts), answer.content
        except ProgramFailed as error:
            if error.reason is Reason.MISSING:
                raise PenstockError(f"bookmarks need {error}: pip install 'penstock-recipes[bookmarks]'") from None
            if error.reason is not Reason.REFUSED:
                log.info("a stranger's file could not be read: %s", error)
            failed = PageFailed if error.reason is Reason.TIMEOUT else NotThere
            raise failed(_TOLD.get(error.reason, str(error)[:200])) from None
