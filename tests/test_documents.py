"""Every block in the README and the guides runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = sorted(ROOT.glob("recipes/penstock_recipes/*/README.md"))
GUIDES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "recipes" / "README.md"]


def _run(document: Path, folder: Path, **environment: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.run_document", str(document)],
        cwd=folder,
        env=inherited | {"PATH": commands, "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("document", [*GUIDES, *RECIPES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_block_of_a_guide_runs(document: Path, url: str, tmp_path: Path) -> None:
    _run(document, tmp_path, DATABASE_URL=url)


@pytest.mark.parametrize("document", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_says_what_its_server_must_be_told(document: Path) -> None:
    assert "PENSTOCK_PUBLIC_URL" in document.read_text("utf-8")
    assert "PENSTOCK_CORS_ORIGINS" in document.read_text("utf-8")


@pytest.mark.root
def test_the_readme_runs_on_a_machine_with_no_database(tmp_path: Path) -> None:
    _run(ROOT / "README.md", tmp_path)
    assert (tmp_path / ".penstock").exists()
