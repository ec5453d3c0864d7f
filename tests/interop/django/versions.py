"""`make test-django`: the project's tests and its worker on every Django; the newest need more than our oldest Python.

Each is installed into an environment of its own under .cache, made once, with a Python that is on the PATH or pyenv's.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.testing.database import embedded_server, throw_away
from tests.interop.django.test_project import ROOT, environment
from tests.kit.fixtures import CACHE, _in_memory_or

NEEDS = {"5.2": (3, 10), "6.0": (3, 12), "6.1": (3, 12)}


def main() -> None:
    for version in sys.argv[1:] or NEEDS:
        interpreter = installed(version)
        for command in (["django", "test", "tests.interop.django.shop"], ["tests.interop.django.program"]):
            told = " ".join(command)
            print(f"Django {version}: {told}", flush=True)
            with embedded_server(_in_memory_or(CACHE) / "postgres") as server, throw_away(server) as url:
                subprocess.run([interpreter, "-W", "error", "-m", *command], env=environment(url), cwd=ROOT, check=True)


def installed(version: str) -> str:
    """The interpreter of an environment that has this Django."""
    folder = CACHE / "django" / version
    interpreter = str(folder / "bin" / "python")
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([python_for(version), "-m", "venv", "--clear", folder], check=True)
        tasks = ["django-tasks>=0.12"] if version < "6" else []
        wanted = [f"django~={version}.0", *tasks, "-e", f"{ROOT}[django,binary]"]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *wanted], check=True)
        ready.touch()
    return interpreter


def python_for(version: str) -> str:
    least = NEEDS.get(version, (3, 12))
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("*/bin/python")
    named = [shutil.which(f"python3.{minor}") for minor in range(14, 9, -1)]
    for candidate in [sys.executable, *filter(None, named), *map(str, sorted(kept, reverse=True))]:
        told = subprocess.run([candidate, "--version"], capture_output=True, text=True)
        found = re.match(r"Python (\d+)\.(\d+)", told.stdout)
        if told.returncode == 0 and found and (3, 14) >= (int(found[1]), int(found[2])) >= least:
            return candidate
    raise SystemExit(f"Django {version} needs Python {least[0]}.{least[1]}, which is neither on the PATH nor pyenv's")


if __name__ == "__main__":
    main()
