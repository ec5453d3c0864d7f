"""Every block in the README and the guides runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.redis import fresh_redis
from tests.run_document import blocks, run

ROOT = Path(__file__).parent.parent
RECIPES = sorted(ROOT.glob("recipes/penstock_recipes/*/README.md"))
ELSEWHERE = [ROOT / name for name in ("CONTRIBUTING.md", "deploy/README.md", "recipes/README.md")]
GUIDES = [*sorted(ROOT.glob("docs/**/*.md")), *ELSEWHERE]
RUN = [document for document in [*GUIDES, *RECIPES] if any(block.runs for block in blocks(document))]
ALONE = "-p no:hypothesispytest -p no:schemathesis"
"""A reader's pytest has not our plugins, which take 0.7 of its 1.3 s to load."""
SHOWN = [document for document in [*GUIDES, *RECIPES] if document not in RUN]


def _run(document: Path, folder: Path, **environment: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.run_document", str(document)],
        cwd=folder,
        env=inherited | {"PATH": commands, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ALONE} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("document", RUN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_block_of_a_guide_runs(document: Path, url: str, tmp_path: Path) -> None:
    redis = {"REDIS_URL": fresh_redis()} if "REDIS_URL" in document.read_text("utf-8") else {}
    _run(document, tmp_path, DATABASE_URL=url, **redis)


def test_what_is_only_shown_is_well_formed() -> None:
    for document in SHOWN:
        run(document)


@pytest.mark.parametrize(
    "broken",
    ['```python title="Celery"\ndef half(:\n```\n', "```json\n{\n```\n", "```toml\na =\n```\n", "```yaml\na: 1\n```\n"],
)
def test_a_block_that_is_broken_or_of_no_known_language_is_found(broken: str, tmp_path: Path) -> None:
    document = tmp_path / "broken.md"
    document.write_text(broken)
    with pytest.raises((SyntaxError, ValueError, SystemExit)):
        run(document)


@pytest.mark.parametrize("document", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_says_what_its_server_must_be_told(document: Path) -> None:
    assert "PENSTOCK_PUBLIC_URL" in document.read_text("utf-8")
    assert "PENSTOCK_CORS_ORIGINS" in document.read_text("utf-8")


@pytest.mark.root
def test_the_readme_runs_on_a_machine_with_no_database(tmp_path: Path) -> None:
    _run(ROOT / "README.md", tmp_path)
    assert (tmp_path / ".penstock").exists()
