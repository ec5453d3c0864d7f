"""Arguments of a given size: orders as JSON, made of seeded random words, the same for every system.

Only the standard library is imported here: the runners in bench/peers, which live in other venvs, read these too.
"""

import json
import os
import random
import string
from pathlib import Path
from typing import Any

Document = dict[str, Any]

SIZES = (0, 1024, 10 * 1024)
DOCUMENTS = 200
"""Different ones of each size; the jobs take them in turns."""
VOCABULARY = 5_000
SEED = 1


def label(size: int) -> str:
    """`0`, `1k`, `10k`, `1500`: what results call a size."""
    return f"{size // 1024}k" if size and size % 1024 == 0 else str(size)


def suffix(size: int) -> str:
    """Of the names that results of this size have: none where jobs carry nothing but a number."""
    return f"_{label(size)}" if size else ""


def documents(size: int, count: int = DOCUMENTS) -> list[Document]:
    """Each is so many bytes of compact JSON, exactly; of size 0 there are none.

    Words make Postgres's compression work and not win: pglz takes a sixth off 10 KB of these, and nothing off 1 KB.
    """
    if size == 0:
        return []
    chance = random.Random(f"{SEED}/{size}")
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 11))) for _ in range(VOCABULARY)]
    return [_document(size, chance, words) for _ in range(count)]


def _document(size: int, chance: random.Random, words: list[str]) -> Document:
    made: Document = {"order": f"{chance.getrandbits(64):016x}", "lines": [], "note": ""}
    if len(compact(made)) > size:
        raise ValueError(f"no document has {size} bytes: the smallest has {len(compact(made))}")
    while True:
        line = {
            "article": f"{chance.getrandbits(40):010x}",
            "text": " ".join(chance.choices(words, k=chance.randint(6, 20))),
            "amount": chance.randint(1, 500),
            "price": round(chance.uniform(0.5, 900), 2),
        }
        made["lines"].append(line)
        if len(compact(made)) > size:
            made["lines"].pop()
            break
    lacking = size - len(compact(made))
    note = ""
    while len(note) < lacking:
        note += chance.choice(words) + " "
    made["note"] = note[:lacking]
    return made


def compact(document: Document) -> str:
    return json.dumps(document, separators=(",", ":"))


def write(size: int, folder: Path) -> Path:
    """The documents of this size as a file of lines, for runners in any language."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{label(size)}.jsonl"
    # whole at once: another benchmark may be reading it
    made = folder / f"{file.name}.{os.getpid()}"
    made.write_text("".join(f"{compact(document)}\n" for document in documents(size)))
    return made.replace(file)


def read(file: Path) -> list[Document]:
    return [json.loads(line) for line in file.read_text().splitlines()]
