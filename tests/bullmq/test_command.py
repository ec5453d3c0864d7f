"""`penstock worker`, and a tick, of an application that has nothing but Redis."""

import signal
import subprocess
import sys
from pathlib import Path

from redis import Redis

from penstock import Penstock
from tests.kit.redis import fresh_redis, redis_server

PROGRAM = """
from penstock import Penstock

app = Penstock("{url}")


@app.job
def greet(name: str) -> str:
    return f"hello {{name}}"
"""


def test_it_runs_jobs_and_starts_no_postgres(tmp_path: Path) -> None:
    url = fresh_redis()
    (tmp_path / "tasks.py").write_text(PROGRAM.format(url=url))
    worker = subprocess.Popen([sys.executable, "-m", "penstock.cli", "worker", "tasks:app"], cwd=tmp_path)
    try:
        with Penstock(url) as app:

            @app.job
            def greet(name: str) -> str:
                raise AssertionError(name)

            assert greet.enqueue("Ada").result(timeout=60) == "hello Ada"
        worker.send_signal(signal.SIGINT)
        assert worker.wait(30) == 0
    finally:
        worker.kill()
        worker.wait()
    assert not (tmp_path / ".penstock").exists()


def test_a_tick_leaves_no_connection_open() -> None:
    url = fresh_redis()
    with Penstock(url) as app, Redis.from_url(redis_server()) as redis:
        work = app.job(kind="work")(lambda: None)
        work.enqueue()
        before = {client["id"] for client in redis.client_list()}
        assert [each.kind for each in app.tick()] == ["work"]
        assert {client["id"] for client in redis.client_list()} <= before
