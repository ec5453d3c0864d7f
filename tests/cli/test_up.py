"""`penstock up` and `penstock server` as programs: everything starts, works, and ends with one signal."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg
import pytest

from penstock import Penstock, embedded
from penstock.cli.server import _serve
from penstock.errors import NotMigrated
from penstock.server import ServerSettings
from penstock.server.http.uvicorn import CannotListen, address_of, open_socket
from penstock.sql import migrations
from tests.kit.until import wait_until

T = TypeVar("T")

APP = """
import time
from pathlib import Path
from penstock import Penstock, SyncContext

app = Penstock()
page = Path(__file__).parent / "page"
page.mkdir(exist_ok=True)
(page / "index.html").write_text("<!doctype html>")
app.add_page("/shop", page, title="Shop")

@app.job(users=True)
def shout(text: str) -> str:
    return text.upper()

@app.job
def nap(ctx: SyncContext) -> None:
    while True:
        ctx.stop_if_cancelled()
        time.sleep(0.05)
"""


class Program:
    """A `penstock …` process in a folder of its own."""

    def __init__(self, folder: Path, *arguments: str, app: str = APP, **environment: str) -> None:
        self.folder = folder
        (folder / "shouting.py").write_text(app)
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("PENSTOCK_", "DATABASE_"))}
        if "PENSTOCK_PG_BIN" in os.environ:
            keep["PENSTOCK_PG_BIN"] = os.environ["PENSTOCK_PG_BIN"]
        with (folder / "said").open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli", *arguments],
                cwd=folder, stdout=said, stderr=said, env=keep | environment, start_new_session=True,
            )  # fmt: skip

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()

    def address(self) -> str:
        found: str = self.until(lambda: re.search(r"http://127\.0\.0\.1:\d+", self.said))[0]
        return found

    def ask(self, path: str, body: object = None, token: str | None = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address() + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def wait_until_up(self) -> None:
        def answers() -> bool:
            try:
                return self.ask("/readyz")[0] == 200
            except OSError:
                return False

        self.until(answers)

    def everybody(self) -> list[psutil.Process]:
        """The processes under it; its workers come a moment after it answers."""

        def workers_came() -> list[psutil.Process] | None:
            below: list[psutil.Process] = psutil.Process(self.process.pid).children(recursive=True)
            return below if any(_is_worker(each) for each in below) else None

        return self.until(workers_came)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def until(self, condition: Callable[[], T | None]) -> T:
        def holds() -> T | None:
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.said}"
            return condition()

        return wait_until(holds, 60, every=0.05, what=lambda: f"this came of it instead:\n{self.said}")


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "worker" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    started: list[Program] = []
    yield started
    for program in started:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
            program.process.wait()


@pytest.mark.root
def test_up_brings_everything_lets_users_in_and_one_ctrl_c_ends_it(tmp_path: Path, programs: list[Program]) -> None:
    program = Program(tmp_path, "up", "shouting:app", "--port", "0")
    programs.append(program)
    program.wait_until_up()
    key = (tmp_path / ".penstock" / "service-key").read_text()
    assert (tmp_path / ".penstock" / "service-key").stat().st_mode & 0o777 == 0o600
    status, started = program.ask("/api/jobs", {"kind": "shout", "args": {"text": "hi"}}, key)
    assert status == 202
    job = program.until(
        lambda: (job := program.ask(f"/api/jobs/{started['id']}", token=key)[1])["state"] == "succeeded" and job
    )
    assert job["output"] == "HI"
    _check_summary(program, key)
    _check_that_a_user_signs_in_with_a_minted_token(program)
    everybody = program.everybody()
    assert program.end() == 0
    gone, alive = psutil.wait_procs(everybody, timeout=30)
    assert not alive
    assert gone


def _check_summary(program: Program, key: str) -> None:
    """One block, then the log: everything is said once, and nothing that a terminal alone understands."""
    first, empty, *block = program.said.partition("\n\n{")[0].splitlines()
    assert (first.startswith("Penstock "), empty) == (True, "")
    about = [line.split("  ")[1].strip() for line in block if not line.startswith("   ")]
    assert [each for each in about if each != "dashboard"] == [
        "api", "shop", "sign in", "database", "files", "queues", "workers", "try it", "stop"
    ]  # fmt: skip
    told = "\n".join(block)
    assert f"{program.address()}/docs\n" in told
    assert f"{program.address()}/shop\n" in told  # whoever reads a log is not to sign in by it
    assert ".penstock/service-key\n" in told
    assert "penstock token --sub ada\n" in told
    at = f"schema penstock at migration {migrations()[-1].number}"  # as the doctor says it
    assert f"embedded Postgres under .penstock, {at}, brought there just now\n" in told
    assert "1 process, 2 kinds of jobs\n" in told
    assert program.said.count("default × 50") == 1
    assert "\x1b" not in program.said
    assert key not in program.said


def _check_that_a_user_signs_in_with_a_minted_token(program: Program) -> None:
    token = subprocess.run(
        [sys.executable, "-m", "penstock.cli", "token", "--sub", "alice"],
        cwd=program.folder, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    status, started = program.ask("/api/jobs", {"kind": "shout", "args": {"text": "hi"}}, token)
    assert status == 202
    assert program.ask(f"/api/jobs/{started['id']}", token=token)[1]["owner"] == "alice"
    assert program.ask("/api/jobs", {"kind": "nap", "args": {}}, token)[0] == 403


def test_a_second_up_finds_its_keys_and_jobs_and_adapters(tmp_path: Path, programs: list[Program]) -> None:
    ids = []
    for options in (["--with", "pgmq"], []):
        program = Program(tmp_path, "up", "shouting:app", "--port", "0", *options)
        programs.append(program)
        program.wait_until_up()
        key = (tmp_path / ".penstock" / "service-key").read_text()
        ids.append(program.ask("/api/jobs", {"kind": "shout", "args": {"text": "hi"}}, key)[1]["id"])
        with psycopg.connect(embedded.running_url(tmp_path / ".penstock") or "") as connection:
            assert connection.execute("select count(*) from pgmq.list_queues()").fetchone() == (0,)
        assert program.end(signal.SIGTERM) == 0
    assert ids[0] != ids[1]


@pytest.mark.root
def test_killing_up_takes_its_workers_along(tmp_path: Path, programs: list[Program]) -> None:
    program = Program(tmp_path, "up", "shouting:app", "--port", "0")
    programs.append(program)
    program.wait_until_up()
    workers = [each for each in program.everybody() if _is_worker(each)]
    assert program.end(signal.SIGKILL) == -signal.SIGKILL
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


LINKING = (
    APP
    + """
@app.job
def link(ctx: SyncContext) -> str:
    return app.artifacts.url(ctx.artifacts.put("note.txt", b"kept").id)
"""
)


def test_a_job_makes_links_to_a_server_that_listens_everywhere(tmp_path: Path, programs: list[Program]) -> None:
    program = Program(tmp_path, "up", "shouting:app", "--host", "0.0.0.0", "--port", "0", app=LINKING)
    programs.append(program)
    program.wait_until_up()
    key = (tmp_path / ".penstock" / "service-key").read_text()
    job = program.ask("/api/jobs", {"kind": "link", "args": {}}, key)[1]["id"]
    ended = program.until(
        lambda: (found := program.ask(f"/api/jobs/{job}", token=key)[1])["state"] in ("succeeded", "failed") and found
    )
    assert str(ended["output"]).startswith(f"{program.address()}/api/artifacts/"), ended
    with urllib.request.urlopen(ended["output"], timeout=20) as answer:
        assert answer.read() == b"kept"


@pytest.mark.parametrize(("host", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("127.0.0.1", "127.0.0.1")])
def test_a_server_is_reached_where_it_listens(host: str, reached: str) -> None:
    try:
        listening = open_socket(host, 0)
    except (CannotListen, OSError):
        assert ":" in host
        pytest.skip("this machine has no IPv6")
    with listening:
        assert address_of(listening) == f"http://{reached}:{listening.getsockname()[1]}"


def test_a_server_alone_serves_and_stops(tmp_path: Path, programs: list[Program], url: str) -> None:
    settings = {"DATABASE_URL": url, "PENSTOCK_SERVICE_KEY": "a-key-from-the-environment"}
    program = Program(tmp_path, "server", "shouting:app", "--port", "0", **settings)
    programs.append(program)
    program.wait_until_up()
    asked = {"kind": "shout", "args": {"text": "hi"}}
    assert program.ask("/api/jobs", asked, "a-key-from-the-environment")[0] == 202
    assert program.ask("/api/jobs", asked, "another-key-altogether")[0] == 401
    assert "a-key-from-the-environment" not in program.said
    assert program.end(signal.SIGTERM) == 0


def run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    program = Program(folder, *arguments, **environment)
    return program.process.wait(60), program.said


def test_a_server_without_any_key_says_what_to_set(tmp_path: Path, url: str) -> None:
    code, said = run(tmp_path, "server", "shouting:app", DATABASE_URL=url)
    assert code == 1
    assert "PENSTOCK_SERVICE_KEY" in said


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        key = "a-key-from-the-environment"
        code, said = run(tmp_path, "server", "shouting:app", "--port", port, DATABASE_URL=url, PENSTOCK_SERVICE_KEY=key)
    assert code == 1
    assert "--port" in said
    assert "Traceback" not in said


def test_a_server_that_cannot_start_gives_its_port_back(
    tmp_path: Path, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[socket.socket] = []

    def open_and_note(host: str, port: int) -> socket.socket:
        opened.append(open_socket(host, port))
        return opened[-1]

    monkeypatch.setattr("penstock.server.http.uvicorn.open_socket", open_and_note)
    settings = ServerSettings(service_key="a-key-from-the-environment")
    with pytest.raises(NotMigrated):
        asyncio.run(_serve(Penstock(empty_url, folder=tmp_path), settings, "127.0.0.1", 0, lambda *_: None))
    assert [each.fileno() for each in opened] == [-1]


def test_a_wrong_setting_is_named(tmp_path: Path, url: str) -> None:
    code, said = run(tmp_path, "server", "shouting:app", DATABASE_URL=url, PENSTOCK_MAX_BODY="much")
    assert code == 1
    assert "PENSTOCK_MAX_BODY" in said
