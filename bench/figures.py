"""The figures of a run: costs a job, and a file of results that several benchmarks share."""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench import machine, payload


def median_a_job(spent: Iterable[tuple[float | None, int]], scale: float = 1.0) -> float | None:
    """The median of what so many jobs took, for one of them; nothing where it could not be measured."""
    each = [total / jobs * scale for total, jobs in spent if total is not None]
    return statistics.median(each) if each else None


def percentile(values: list[float], p: str) -> float:
    """By nearest rank: of a hundred values the 99th is p99, and not the worst."""
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * int(p[1:]) / 100) - 1]


def shown(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def merge(target: Path, results: dict[str, Any], by_system: str = "") -> None:
    """Writes these results, and on what machine and when; leaves what another benchmark has written into the same file,
    and of what there is of that name, by systems, also those that were not measured anew."""
    target.parent.mkdir(parents=True, exist_ok=True)
    others = json.loads(target.read_text()) if target.exists() else {}
    if by_system:
        results = {**results, by_system: {**others.get(by_system, {}), **results[by_system]}}
    target.write_text(json.dumps({**others, "machine": machine.here(), **results}, indent=2) + "\n")


def at_least(least: int) -> Callable[[str], int]:
    """A whole number for argparse, which says what is wrong with any other."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least:,}")
        return int(text)

    return number


def size(text: str) -> int:
    """A payload's bytes for argparse."""
    bytes_ = at_least(0)(text)
    try:
        payload.documents(bytes_, 1)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return bytes_


def add_payload_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--payload", type=size, nargs="+", default=payload.SIZES, metavar="BYTES",
        help="of JSON that each job carries besides a number; several are measured one after the other"
        f" (else {' '.join(map(str, payload.SIZES))})",
    )  # fmt: skip
