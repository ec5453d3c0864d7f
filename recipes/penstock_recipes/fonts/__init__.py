"""The fonts that PDFs are set in, the same on every machine; others are asked only for what these lack."""

import os
import re
import stat
import tempfile
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import typst

BOXES = "Boxes"
_CHOSEN = ("FiraGO", "Libertinus Serif", "New Computer Modern", "DejaVu Sans Mono")
_FIRAGO = ("figo", "figbo", "figit", "figbi")
_HAN = {"zh": "SC", "zh-TW": "TC", "zh-HK": "HK", "zh-MO": "HK", "yue": "HK", "ja": "JP", "ko": "KR"}
_WRITTEN_WITH = {"JP": re.compile("[\u3041-\u3096\u30a1-\u30fa]"), "KR": re.compile("[\u1100-\u11ff\uac00-\ud7a3]")}

_finding = Lock()


def installed() -> typst.Fonts:
    """Those of typst itself, FiraGO of the package pymupdf-fonts (Latin, Greek, Cyrillic, Arabic, Hebrew, Devanagari,
    Thai, Georgian), Noto Sans CJK of noto-cjk-sans-otc (Chinese, Japanese, Korean), those of the system, and the boxes.
    Found once for a process, whichever of its threads comes first."""
    with _finding:
        return _find()


@cache
def _find() -> typst.Fonts:
    folder = _folder()
    for name, content in _shipped().items():
        _write(folder / name, content)
    return typst.Fonts(font_paths=[str(folder), *_packaged()])


def families() -> list[str]:
    return list(_families())


def fallbacks(language: str = "en", text: str = "") -> list[str]:
    """For characters that a template's own fonts lack: ours, then the system's, then a box, which every character has.
    In which of their forms Chinese characters stand depends on the language of the text, or else on the other letters
    in it: kana are Japanese, hangul is Korean."""
    known = _families()
    chosen = (*_CHOSEN, f"Noto Sans CJK {_forms_of_han(language, text)}")
    ours = [name for name in chosen if name in known]
    others = [name for name in known if name not in (*chosen, BOXES) and "Math" not in name]
    # those that are made to cover everything come first
    return [*ours, *sorted(others, key=lambda name: (not name.startswith("Noto"), name)), BOXES]


def _forms_of_han(language: str, text: str) -> str:
    told = _HAN.get(language) or _HAN.get(language.partition("-")[0])
    return told or next((forms for forms, letters in _WRITTEN_WITH.items() if letters.search(text)), "SC")


@cache
def _families() -> tuple[str, ...]:
    return tuple(installed().families())


def _shipped() -> dict[str, bytes]:
    found = {"boxes.ttf": (files(__name__) / "boxes.ttf").read_bytes()}
    try:
        import pymupdf_fonts  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return found
    return found | {f"{name}.ttf": pymupdf_fonts.myfont(name) for name in _FIRAGO}


def _packaged() -> list[str]:
    """Folders of fonts that come as files, and may be read where they are."""
    found = find_spec("noto_cjk_sans_otc")
    return [str(Path(found.origin).parent)] if found and found.origin else []


def _folder() -> Path:
    """typst reads fonts from files. One folder for all processes of a user, since most of these end by being killed and
    could not tidy up; one of its own for a process that finds somebody else's there."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    folder = Path(tempfile.gettempdir()) / f"penstock-fonts-{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    shared = os.name == "posix" and (found.st_uid != user or found.st_mode & 0o022 or not stat.S_ISDIR(found.st_mode))
    return Path(tempfile.mkdtemp(prefix="penstock-fonts-")) if shared else folder


def _write(path: Path, content: bytes) -> None:
    """As a whole or not at all: others may be reading it."""
    if path.exists() and path.stat().st_size == len(content):
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
