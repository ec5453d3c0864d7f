"""One server for all who name the folder, for as long as one of them is there."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock import embedded
from penstock.embedded import EmbeddedPostgres, locks
from penstock.embedded.folder import Layout
from tests.kit.until import wait_until

from .users import User, ask, nothing_runs, running, tell

pytestmark = pytest.mark.root

RACERS = 20
RACE = """
import os, sys
import psycopg
from penstock import embedded
go, ready = os.pipe()
racers = []
for _ in range(int(sys.argv[2])):
    if (racer := os.fork()) == 0:
        os.close(ready)
        os.read(go, 1)
        postgres = embedded.start(sys.argv[1])
        with psycopg.connect(postgres.url) as connection:
            since = connection.execute("select pg_postmaster_start_time()::text").fetchone()[0]
        os.write(1, f"{since}\\n".encode())
        sys.stdin.read()
        os._exit(0)
    racers.append(racer)
os.close(go)
os.close(ready)
for racer in racers:
    os.waitpid(racer, 0)
"""
FORK = """
import os, sys
from penstock import embedded
postgres = embedded.start(sys.argv[1])
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
postgres.close()
print(postgres.url, flush=True)
"""


def test_twenty_racers_get_one_server(fresh: Path) -> None:
    race = subprocess.Popen(
        [sys.executable, "-c", RACE, fresh, str(RACERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with race:
        assert race.stdin is not None
        assert race.stdout is not None
        started = [race.stdout.readline() for _ in range(RACERS)]
    assert len(set(started)) == 1
    assert b"20" in started[0]
    wait_until(lambda: nothing_runs(fresh))


def test_the_server_stops_when_the_last_user_leaves(folder: Path) -> None:
    with embedded.start(folder) as first:
        with User(folder) as other:
            assert other.url() == first.url
            first.close()
            assert ask(first.url, "select 1") == 1
            other.leave()
        wait_until(lambda: nothing_runs(folder))
    assert embedded.running_url(folder) is None


def test_the_last_to_close_may_remove_the_folder_at_once(folder: Path) -> None:
    with embedded.start(folder):
        pass
    assert nothing_runs(folder)


def test_several_holds_in_one_process_are_several_users(folder: Path) -> None:
    with embedded.start(folder) as first, embedded.start(folder) as second:
        assert first.url == second.url
        first.close()
        first.close()
        assert ask(second.url, "select 1") == 1


def test_a_forked_child_shares_its_parents_hold(folder: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", FORK, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        parent.wait()
        assert ask(url, "select 1") == 1
    wait_until(lambda: nothing_runs(folder))


def test_who_comes_during_a_shutdown_gets_a_new_server(folder: Path) -> None:
    layout = Layout.at(folder)
    with User(folder) as last:
        last.url()
        old = running(folder)
        os.kill(old.postmaster, signal.SIGSTOP)
        last.kill()
        # From here on the keeper shuts down, and cannot finish.
        wait_until(lambda: not locks.is_free(layout.users_lock))
        got: list[EmbeddedPostgres] = []
        newcomer = threading.Thread(target=lambda: got.append(embedded.start(folder)))
        newcomer.start()
        wait_until(lambda: not locks.is_free(layout.start_lock))
        assert not got
        os.kill(old.postmaster, signal.SIGCONT)
        newcomer.join()
    with got[0] as postgres:
        assert running(folder).postmaster != old.postmaster
        assert ask(postgres.url, "select 1") == 1


def test_ctrl_c_at_the_starters_terminal_does_not_reach_the_server(folder: Path) -> None:
    with User(folder) as starter:
        starter.url()
        server = running(folder)
        with embedded.start(folder) as postgres:
            assert os.getsid(server.keeper) != os.getsid(starter.process.pid)
            os.killpg(starter.process.pid, signal.SIGINT)
            starter.process.wait()
            assert ask(postgres.url, "select 1") == 1
            assert running(folder) == server


def test_a_staying_server_outlives_its_starter_and_its_pipes_until_stopped(own_folder: Path) -> None:
    script = "import sys; from penstock import embedded; embedded.start(sys.argv[1], stay=True)"
    # Returns only if nothing that still runs holds the other end of the captured output.
    subprocess.run([sys.executable, "-c", script, own_folder], check=True, capture_output=True, timeout=30)
    url = embedded.running_url(own_folder)
    assert url is not None
    with embedded.start(own_folder):
        tell(url, "create table kept (n int)")
    assert ask(url, "select count(*) from kept") == 0
    assert embedded.stop(own_folder) is True
    assert nothing_runs(own_folder)
    assert embedded.stop(own_folder) is False
    assert embedded.running_url(own_folder) is None


def test_staying_ends_with_stop(folder: Path) -> None:
    embedded.start(folder, stay=True).close()
    embedded.stop(folder)
    embedded.start(folder).close()
    assert nothing_runs(folder)


def test_a_running_server_can_be_told_to_stay(folder: Path) -> None:
    with embedded.start(folder):
        embedded.start(folder, stay=True).close()
    assert embedded.running_url(folder) is not None


def test_stop_stops_a_server_in_use_and_its_users_may_start_again(folder: Path) -> None:
    with embedded.start(folder) as stranded:
        assert embedded.stop(folder) is True
        assert nothing_runs(folder)
        with embedded.start(folder):
            assert ask(stranded.url, "select 1") == 1


def test_nothing_is_made_by_asking_about_a_folder(tmp_path: Path) -> None:
    assert embedded.running_url(tmp_path / "none") is None
    assert embedded.stop(tmp_path / "none") is False
    assert list(tmp_path.iterdir()) == []
