"""`pip install penstock` without any extra: what needs one says which, in one line."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from penstock.cli.extras import EXTRAS

ROOT = Path(__file__).parent.parent.parent
NEEDS = {
    "server": [["up", "tasks:app"], ["server", "tasks:app"], ["token", "--sub", "ada"]],
    "push": [
        ["wake", "http://127.0.0.1:1/", "-q", "default"],
        ["worker", "tasks:app", "--api", "http://127.0.0.1:1"],
        ["worker", "pushing:app"],
    ],
    "storage": [["artifacts", "sweep"]],
    "exports": [["up", "penstock.recipes.exports:app"]],
    "bookmarks": [["worker", "penstock.recipes.bookmarks:app"]],
    "calls": [["tick", "penstock.recipes.calls:app"]],
}
ENOUGH = [["jobs", "list"], ["queues", "list"], ["migrate"], ["tick", "tasks:app"], ["enqueue", "x"]]


def test_what_needs_an_extra_names_it_in_one_line(tmp_path: Path, url: str) -> None:
    (tmp_path / "tasks.py").write_text("from penstock import Penstock\napp = Penstock()\n@app.job\ndef x(): ...\n")
    (tmp_path / "pushing.py").write_text(
        "from penstock import Penstock\napp = Penstock()\n"
        "app.push('k', 'https://example.com/', secret='whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')\n"
    )
    asked = [(extra, arguments) for extra, commands in NEEDS.items() for arguments in commands]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.bare"], cwd=tmp_path, check=True, capture_output=True, text=True,
        input=json.dumps([arguments for _, arguments in asked] + ENOUGH),
        env=os.environ | {"DATABASE_URL": url, "PYTHONPATH": str(ROOT), "PENSTOCK_SERVICE_KEY": "k" * 40},
    )  # fmt: skip
    ended = json.loads(done.stdout)
    for (extra, arguments), (code, said, trouble) in zip(asked, ended[: len(asked)], strict=True):
        assert (arguments, code, trouble) == (arguments, 1, None), said
        assert f"penstock[{extra}]" in said, (arguments, said)
        assert len(said.strip().splitlines()) == 1, said
    for arguments, (code, said, trouble) in zip(ENOUGH, ended[len(asked) :], strict=True):
        assert (arguments, code, trouble) == (arguments, 0, None), said


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = {
        "prometheus-client": "prometheus_client",
        "zipstream-ng": "zipstream",
        "opentelemetry-api": "opentelemetry",
    }
    for extra in ("embedded", "otel", "storage", "push", "server"):
        for requirement in declared[extra]:
            name = re.split(r"[^a-zA-Z0-9-]", requirement)[0]
            if name != "penstock":
                assert EXTRAS[modules.get(name, name.replace("-", "_"))] == extra
