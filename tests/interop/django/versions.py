"""`make test-django`: the project's tests and its worker on every Django, and Django's own tests of its tasks on our
backend; the newest need more than our oldest Python.

Each is installed into an environment of its own under .cache, made once, with a Python that is on the PATH or pyenv's.
Django's tests are in its source distribution; django-tasks, which Django 5.2 needs, ships none.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.testing.database import embedded_server, throw_away
from tests.interop.django.test_project import ROOT, environment
from tests.kit.fixtures import CACHE, in_memory_or

NEEDS = {"5.2": (3, 10), "6.0": (3, 12), "6.1": (3, 12)}


IN_PLACE = {
    "test_tasks": {
        "django.tasks.backends.dummy.DummyBackend": "tests.interop.django.djangos_own.Waiting",
        "django.tasks.backends.immediate.ImmediateBackend": "tests.interop.django.djangos_own.AtOnce",
        "from django.tasks.backends.dummy import": "from tests.interop.django.djangos_own import Waiting as",
        "from django.tasks.backends.immediate import": "from tests.interop.django.djangos_own import AtOnce as",
        "SimpleTestCase": "TestCase",
    },
    "test_dummy_backend": {
        "django.tasks.backends.dummy.DummyBackend": "tests.interop.django.djangos_own.Waiting",
        "from django.tasks.backends.dummy import": "from tests.interop.django.djangos_own import Waiting as",
        "    available_apps = []\n": "",
        "SimpleTestCase": "TestCase",
    },
    "test_immediate_backend": {
        "django.tasks.backends.immediate.ImmediateBackend": "tests.interop.django.djangos_own.Running",
        "from django.tasks.backends.immediate import": "from tests.interop.django.djangos_own import Running as",
        "    available_apps = []\n": "",
        "SimpleTestCase": "TestCase",
    },
}
"""What Django's tests say, and say here: our backends instead of theirs, and a database that they may use."""


def main() -> None:
    for version in sys.argv[1:] or NEEDS:
        interpreter = installed(version)
        run(version, interpreter, ["django", "test", "tests.interop.django.shop"])
        run(version, interpreter, ["tests.interop.django.program"])
        if version >= "6":
            project = {
                "DJANGO_SETTINGS_MODULE": "tests.interop.django.djangos_settings",
                "PYTHONPATH": f"{ROOT}:{djangos_tests(version, interpreter)}",
            }
            run(version, interpreter, ["django", "test", "tests.interop.django.djangos_own"], project)


def run(version: str, interpreter: str, command: Sequence[str], project: Mapping[str, str] | None = None) -> None:
    print(f"Django {version}: {' '.join(command)}", flush=True)
    with embedded_server(in_memory_or(CACHE) / "postgres") as server, throw_away(server) as url:
        subprocess.run(
            [interpreter, "-W", "error", "-m", *command],
            env={**environment(url), **(project or {})},
            cwd=ROOT,
            check=True,
        )


def djangos_tests(version: str, interpreter: str) -> Path:
    """The folder that has Django's package `tasks`, as it is to run here."""
    folder = CACHE / "django" / f"{version}-tests"
    package = folder / "tasks"
    exact = subprocess.run([interpreter, "-m", "django", "--version"], capture_output=True, text=True, check=True)
    source = folder / f"django-{exact.stdout.strip()}.tar.gz"
    if not source.exists():
        shutil.rmtree(folder, ignore_errors=True)
        wanted = f"django=={exact.stdout.strip()}"
        download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), wanted]
        subprocess.run([interpreter, "-m", "pip", *download], check=True)
    package.mkdir(exist_ok=True)
    with tarfile.open(source) as archive:
        for name in ("__init__", "tasks", *IN_PLACE):
            member = archive.extractfile(f"{source.name.removesuffix('.tar.gz')}/tests/tasks/{name}.py")
            assert member is not None
            text = member.read().decode()
            for theirs, ours in IN_PLACE.get(name, {}).items():
                assert theirs in text, f"{name}.py of Django {version} has no {theirs!r}"
                text = text.replace(theirs, ours)
            (package / f"{name}.py").write_text(text)
    return folder


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
