"""The decoder as it is when a recording has taken it over. The recording says what to attack; what could be reached is
written where the sound should be."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HERE = Path(__file__).resolve()
hostile = load(HERE.parents[3] / "tests" / "sandbox" / "hostile.py")
decoder = load(HERE.parents[2] / "penstock_recipes" / "calls" / "decoder.py")
Refused, prepare = decoder.Refused, decoder.prepare


def extract(
    data: bytes, source: BinaryIO, to: BinaryIO, folded: BinaryIO, max_seconds: float
) -> tuple[dict[str, Any], bytes]:
    asked = json.load(source)
    if asked == "crash":
        hostile.crash(data)
    facts, _ = hostile.attack(data, **asked)
    to.write(json.dumps(facts).encode())
    return {"seconds": 1.0, "channels": 1, "rate": 16_000}, b""
