"""What `pip install penstock` puts on a disk."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.install.environments import ROOT, distributions, project, tops

MOST = 20_000_000
INCLUDED: list[str] = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]


def on_disk(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())


def test_the_core_takes_at_most_20_megabytes() -> None:
    packages = Path(sysconfig.get_path("purelib"))
    parts = {top: on_disk(packages / top) for name in distributions(()) for top in tops(name)}
    parts |= {name: on_disk(ROOT / name) for name in INCLUDED}
    assert sum(parts.values()) < MOST, sorted(parts.items(), key=lambda part: -part[1])


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, timeout=100)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if ".dist-info/" not in name]
    files = [
        file for each in INCLUDED for file in (sorted((ROOT / each).rglob("*")) or [ROOT / each]) if file.is_file()
    ]
    assert sorted(names) == sorted(
        str(file.relative_to(ROOT)) for file in files if file.suffix != ".pyc" and ".ruff_cache" not in file.parts
    )
    assert {"penstock/py.typed", "penstock/sql/grants.sql", "penstock/server/http/docs_page.css"} <= set(names)
    assert wheel.stat().st_size < 1_000_000


@pytest.mark.slow
def test_it_measures_a_real_installation() -> None:
    subprocess.run(
        ["scripts/measure-install"], cwd=ROOT, check=True, timeout=100, env=os.environ | {"PYTHON": sys.executable}
    )
