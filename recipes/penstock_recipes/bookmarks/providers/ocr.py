"""The words in a picture, read by RapidOCR with the models of its wheel. Nothing is downloaded, nothing is sent.

That model knows Latin, Greek, Chinese and Japanese letters, and no Cyrillic, Arabic, Hebrew, Korean, Thai or Indian
ones: what it does not know it reads as what looks alike, or not at all. `use_model` takes another.

Measured on one core: loading takes 1.3 s and 250 MB, which stay; a card of 1200 × 630 with three lines takes 1 s, a
page of 1600 × 1600 with twenty takes 3 s and 200 MB more meanwhile, one of small print 10 s.
"""

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import PenstockError
from penstock_recipes.bookmarks.pictures import Upright, make_upright

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

    Pixels = NDArray[uint8]

MAX_LETTERS = 5_000
_LONGEST = 1600
# Lines are looked for in a picture of this size. The library's own way is to enlarge the shorter side to 736, which
# makes 736 × 29,440 of 40 × 1600: 50 seconds and 3.4 GB.
_LOOKED_AT = 1280
_SLIMMEST = 8
_SURE = 0.6
# A page of small print has a thousand lines, at up to half a second each: it is read as far as this allows.
_SECONDS = 15.0
_models: list[Path] = []
# one picture at a time, whatever number of jobs this process runs; its thread starts with the first of them
_reader = ThreadPoolExecutor(1, "ocr")


def use_model(path: str | Path | None) -> None:
    """Reads with this model instead of the wheel's, in the whole process: an ONNX file for RapidOCR's text recognition
    with its characters inside, as those of PP-OCRv4 and later have them."""
    if path is not None and not Path(path).is_file():
        raise PenstockError(f"BOOKMARKS_OCR_MODEL: there is no file {path}")
    _models[:] = [] if path is None else [Path(path)]


def model_in_use() -> str:
    return str(_models[0]) if _models else _model("rec")


async def read_text(data: bytes) -> str:
    """Line by line, from the top and from the left; empty if there are no words. Not more than MAX_LETTERS of it, and
    no longer than about twenty seconds. The file is opened in a sandboxed process: what is read here is bare pixels."""
    upright = await make_upright(data, _LONGEST, "RGB")
    stopped = threading.Event()
    try:
        return await asyncio.get_running_loop().run_in_executor(_reader, _read, upright, stopped)
    finally:
        # a thread cannot be ended; it looks at this before each line
        stopped.set()


def _read(upright: Upright, stopped: threading.Event) -> str:
    engine = _engine()
    pixels = _pixels(upright)
    deadline = time.monotonic() + _SECONDS
    found = engine(pixels, use_det=True, use_cls=False, use_rec=False).boxes
    lines: list[str] = []
    letters = 0
    for left, top, right, bottom in in_reading_order([] if found is None else found.tolist()):
        if stopped.is_set() or letters > MAX_LETTERS or time.monotonic() > deadline:
            break
        line = pixels[top:bottom, left:right]
        if not line.size:
            continue
        read = engine(line, use_det=False, use_cls=False, use_rec=True)
        if read.txts and read.scores[0] >= _SURE and (text := read.txts[0].strip()):
            lines.append(text)
            letters += len(text) + 1
    return "\n".join(lines)[:MAX_LETTERS]


def _pixels(upright: Upright) -> "Pixels":
    """In OpenCV's order of colours. A strip gets a margin, for the engine cannot do with one."""
    import numpy

    pixels = numpy.frombuffer(upright.content, numpy.uint8).reshape(upright.height, upright.width, 3)[:, :, ::-1]
    height = max(upright.height, upright.width // _SLIMMEST, 64)
    width = max(upright.width, upright.height // _SLIMMEST, 64)
    margin = ((0, height - upright.height), (0, width - upright.width), (0, 0))
    return numpy.ascontiguousarray(numpy.pad(pixels, margin, mode="edge"))


def in_reading_order(boxes: list[list[list[float]]]) -> list[tuple[int, int, int, int]]:
    """The rectangles (left, top, right, bottom) around the corners of each line. Those whose middles are at about the
    same height are one row, read from the left."""
    around = [
        (
            max(0, int(min(x for x, _ in corners))),
            max(0, int(min(y for _, y in corners))),
            int(max(x for x, _ in corners)) + 1,
            int(max(y for _, y in corners)) + 1,
        )
        for corners in boxes
    ]
    rows: list[list[tuple[int, int, int, int]]] = []
    for box in sorted(around, key=lambda box: box[1] + box[3]):
        middle = (box[1] + box[3]) / 2
        if rows and rows[-1][0][1] <= middle <= rows[-1][0][3]:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row)]


@cache
def _engine() -> Any:
    """One for this process. It is given its models by path: told by name, it would ask the network for one that is not
    there or not as expected."""
    # since 1.29 onnxruntime gives the machine an identity and reports to its maker, as soon as it is imported
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        onnxruntime: Any = import_module("onnxruntime")
        from rapidocr import RapidOCR
    except ImportError as error:
        raise PenstockError(
            f"reading pictures needs {error.name}: pip install 'penstock-recipes[bookmarks]'"
        ) from error
    # should somebody have imported it before
    onnxruntime.disable_telemetry_events()
    return RapidOCR(
        params={
            # its logger alone: it has a handler of its own, and tells of each model and each picture without words
            "Global.log_level": "critical",
            "Global.use_preprocess_img": False,
            "Global.use_vertical_padding": False,
            "Det.model_path": _model("det"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _LOOKED_AT,
            "Rec.model_path": model_in_use(),
            # a worker has other things to do; two take a third less time, and a fifth more CPU
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _model(task: str) -> str:
    folder = Path(str(files("rapidocr") / "models"))
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if not found:
        raise PenstockError(
            f"RapidOCR came without its models (*_{task}_*.onnx): pip install 'penstock-recipes[bookmarks]'"
        )
    return str(found[0])
