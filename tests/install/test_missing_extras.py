"""`pip install penstock` is what a service needs that enqueues or works; what needs more says so in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.environments import Environment, environment

HERE = Path(__file__).parent
BROUGHT_BY = {
    "the server": "server",
    "asgi": "server",
    "a worker's metrics": "server",
    "push": "push",
    "waker": "push",
    "a worker over the API": "push",
    "outbound": "push",
    "a folder": "storage",
    "s3": "storage",
    "opentelemetry": "otel",
    "sentry": "sentry",
    "jobs on Redis": "bullmq",
    "no database": "embedded",
}
NEEDS = {
    "server": [
        ["up", "tasks:app"],
        ["server", "tasks:app"],
        ["token", "--sub", "ada"],
        ["worker", "tasks:app", "--metrics-port", "9100"],
    ],
    "push": [
        ["wake", "http://127.0.0.1:1/", "-q", "default"],
        ["worker", "tasks:app", "--api", "http://127.0.0.1:1"],
        ["worker", "pushing:app"],
    ],
    "storage": [["artifacts", "sweep"]],
    "embedded": [["db", "start"]],
}
ENOUGH = [["jobs", "list"], ["queues", "list"], ["migrate"], ["tick", "tasks:app"], ["enqueue", "x"]]

Make = Callable[..., Environment]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    def make(*extras: str, libpq: bool = True) -> Environment:
        return environment(tmp_path / "venv", *extras, libpq=libpq)

    return make


def test_the_core_enqueues_and_works_and_names_the_extra_of_whatever_else(made: Make, tmp_path: Path, url: str) -> None:
    bare = made()
    done = bare.run(bare.python, str(HERE / "bare.py"), cwd=tmp_path, DATABASE_URL=url)
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert said["implementation"] == "python", "psycopg has its binary wheel"
    assert said["results"] == [2, 4, 6]
    assert said["ticked"] == ["succeeded"]
    for name, extra in BROUGHT_BY.items():
        kind, message = said["told"][name]
        assert kind == ("EmbeddedError" if extra == "embedded" else "MissingExtra"), message
        assert f"pip install 'penstock[{extra}]'" in message
        assert "\n" not in message


def test_what_a_command_needs_is_said_in_one_line(made: Make, tmp_path: Path, url: str) -> None:
    (tmp_path / "tasks.py").write_text("from penstock import Penstock\napp = Penstock()\n@app.job\ndef x(): ...\n")
    (tmp_path / "pushing.py").write_text(
        "from penstock import Penstock\napp = Penstock()\n"
        "app.push('k', 'https://example.com/', secret='whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')\n"
    )
    asked = [(extra, arguments) for extra, commands in NEEDS.items() for arguments in commands]
    there = made("cli")
    done = there.run(
        there.python, str(HERE / "commands.py"), cwd=tmp_path, text=json.dumps([each for _, each in asked] + ENOUGH),
        DATABASE_URL=url, PENSTOCK_SERVICE_KEY="k" * 40,
    )  # fmt: skip
    assert done.stdout, done.stderr
    ended = json.loads(done.stdout)
    for (extra, arguments), (code, said, trouble) in zip(asked, ended[: len(asked)], strict=True):
        assert (arguments, code, trouble) == (arguments, 1, None), said
        assert f"penstock[{extra}]" in said, (arguments, said)
        assert len(said.strip().splitlines()) == 1, said
    for arguments, (code, said, trouble) in zip(ENOUGH, ended[len(asked) :], strict=True):
        assert (arguments, code, trouble) == (arguments, 0, None), said


def test_without_the_command_line_the_command_says_what_brings_it(made: Make, tmp_path: Path) -> None:
    bare = made()
    done = bare.run(bare.command, "jobs", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith("which is not installed: pip install 'penstock[cli]'")


def test_without_libpq_it_is_said_where_to_get_one(made: Make, tmp_path: Path) -> None:
    bare = made("cli", libpq=False)
    done = bare.run(bare.command, "jobs", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: psycopg finds no libpq here: pip install 'penstock[binary]', or ")
    imported = bare.run(bare.python, "-c", "import penstock; penstock.Penstock()", cwd=tmp_path)
    assert imported.stderr.splitlines()[-1].endswith(line.removeprefix("error: "))


def test_a_broken_module_of_ours_is_not_taken_for_an_extra() -> None:
    from penstock.extras import needs

    with pytest.raises(ModuleNotFoundError, match=r"penstock\.nothing"), needs("server", "the server"):
        import penstock.nothing  # type: ignore[import-not-found]  # noqa: F401


def test_the_outermost_extra_is_named() -> None:
    from penstock.extras import MissingExtra, needs

    outer, inner = needs("exports", "the recipe", "penstock-recipes"), needs("server", "the server")
    with (
        pytest.raises(MissingExtra, match=r"the recipe needs nothing_there, .* 'penstock-recipes\[exports\]'"),
        outer,
        inner,
    ):
        import nothing_there  # type: ignore[import-not-found]  # noqa: F401
