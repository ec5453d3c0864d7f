"""Every block in the README and the guides runs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.kit.redis import fresh_redis
from tests.run_document import Order, blocks, run

ROOT = Path(__file__).parent.parent
RECIPES = sorted(ROOT.glob("recipes/penstock_recipes/*/README.md"))
ELSEWHERE = [ROOT / name for name in ("CONTRIBUTING.md", "deploy/README.md", "recipes/README.md")]
GUIDES = [*sorted(ROOT.glob("docs/**/*.md")), *ELSEWHERE]
RUN = [document for document in [*GUIDES, *RECIPES] if any(block.runs for block in blocks(document))]
ALONE = "-p no:hypothesispytest -p no:schemathesis"
"""A reader's pytest has not our plugins, which take 0.7 of its 1.3 s to load."""
INSTALLED = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where a reader's commands are."""
SHOWN = [document for document in [*GUIDES, *RECIPES] if document not in RUN]


class Runner:
    """The process that runs documents; one for all of them, and another when it was interrupted in one."""

    def __init__(self, commands: str) -> None:
        """A folder for a `penstock` that need not be loaded each time."""
        self._commands = commands
        self._process: subprocess.Popen[str] | None = None

    def run(self, document: Path, folder: Path, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        commands = f"{self._commands}{os.pathsep}{INSTALLED}"
        environment = inherited | {"PATH": commands, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ALONE} | environment
        (said := folder.with_suffix(".said")).touch()
        folder.mkdir()
        status = self._ask(Order(str(document), str(folder), environment, str(said)))
        assert status == "0", said.read_text()

    def _ask(self, order: Order) -> str:
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{json.dumps(order)}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()
        except BaseException:
            self.close(signal.SIGKILL)
            raise

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "error", "-m", "tests.run_document", self._commands]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def close(self, number: int = 0) -> None:
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, number)
            with process:  # its stdin is closed, so it ends; and it is waited for
                pass


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with TemporaryDirectory() as commands:
        runner = Runner(commands)
        yield runner
        runner.close()


@pytest.mark.parametrize("document", RUN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_block_of_a_guide_runs(runner: Runner, document: Path, url: str, tmp_path: Path) -> None:
    redis = {"REDIS_URL": fresh_redis()} if "REDIS_URL" in document.read_text("utf-8") else {}
    runner.run(document, tmp_path / "reader", DATABASE_URL=url, **redis)


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


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ("python\nraise ValueError('a mistake')", 'broken.md", line 2(.|\\n)*ValueError: a mistake'),
        ("sh\nexit 3", "broken.md:2: ended with 3"),
        (
            "python\nimport warnings\nwarnings.warn('an old one', DeprecationWarning)",
            "Warning: an old one",
        ),
    ],
)
def test_a_block_that_fails_is_shown(runner: Runner, block: str, shown: str, tmp_path: Path) -> None:
    document = tmp_path / "broken.md"
    document.write_text(f"```{block}\n```\n")
    with pytest.raises(AssertionError, match=shown):
        runner.run(document, tmp_path / "reader")


@pytest.mark.parametrize("document", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_says_what_its_server_must_be_told(document: Path) -> None:
    assert "PENSTOCK_PUBLIC_URL" in document.read_text("utf-8")
    assert "PENSTOCK_CORS_ORIGINS" in document.read_text("utf-8")


@pytest.mark.root
def test_the_readme_runs_on_a_machine_with_no_database(runner: Runner, tmp_path: Path) -> None:
    runner.run(ROOT / "README.md", tmp_path / "reader", PATH=INSTALLED)
    assert (tmp_path / "reader" / ".penstock").exists()
