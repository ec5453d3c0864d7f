"""Virtual environments with what a set of extras brings and nothing else: links to what these tests run with."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent


@cache
def project() -> dict[str, Any]:
    declared: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return declared


def distributions(extras: Iterable[str]) -> set[str]:
    """The names of everything that `pip install penstock[extras]` brings."""
    declared = project()["project"]
    wanted = [
        *declared["dependencies"],
        *(each for extra in extras for each in declared["optional-dependencies"][extra]),
    ]
    found: set[tuple[str, str]] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in found or not _applies(requirement, ""):
                continue
            found.add((name, extra))
            if name == "penstock":
                wanted += declared["optional-dependencies"].get(extra, ())
            else:
                parts = map(Requirement, distribution(name).requires or ())
                wanted += [_without_marker(part) for part in parts if _applies(part, extra)]
    return {name for name, _ in found} - {"penstock"}


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _without_marker(requirement: Requirement) -> str:
    requirement.marker = None
    return str(requirement)


@cache
def tops(name: str) -> set[str]:
    """What a distribution puts into site-packages."""
    return {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def command(self) -> str:
        """The script that pip makes of [project.scripts]."""
        return str(self.folder / "bin" / "penstock")

    def run(self, *command: str, cwd: Path, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR", "LANG") if name in os.environ}
        return subprocess.run(
            command, cwd=cwd, input=text, env=inherited | environment, capture_output=True, text=True, timeout=100
        )


def environment(folder: Path, *extras: str, libpq: bool = True) -> Environment:
    """`libpq` is that of the system: whether psycopg finds it, wherever these tests run."""
    venv.create(folder, symlinks=True, with_pip=False)
    [packages] = folder.glob("lib/python*/site-packages")
    here = Path(sysconfig.get_path("purelib"))
    for name in distributions(extras):
        for top in tops(name):
            if not (packages / top).exists():
                (packages / top).symlink_to(here / top)
    for name in project()["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        (packages / name).symlink_to(ROOT / name)
    for name, target in project()["project"]["scripts"].items():
        module, _, function = target.partition(":")
        script = folder / "bin" / name
        script.write_text(f"#!{folder}/bin/python\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
    found = next((here / "psycopg_binary.libs").glob("libpq*")) if libpq else None
    # not a sitecustomize.py: Debian's Python has one of its own, which is found before
    (packages / "which_libpq.pth").write_text("import which_libpq\n")
    (packages / "which_libpq.py").write_text(
        "import ctypes.util\n"
        "ours = ctypes.util.find_library\n"
        f"ctypes.util.find_library = lambda name: {found and str(found)!r} if name == 'pq' else ours(name)\n"
    )
    return Environment(folder)


assert sys.platform == "linux", "the layout of the environments is that of Linux"
