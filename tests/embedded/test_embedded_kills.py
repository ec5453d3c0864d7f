"""Whatever is killed, nothing leaks, and the next start has all that was committed."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock import embedded
from penstock.embedded import locks
from penstock.embedded.folder import Layout
from tests.kit.until import wait_until

from .users import User, ask, keeper_of, nothing_runs, processes_in, running, tell

pytestmark = pytest.mark.root


def test_killing_the_only_user_stops_the_server(folder: Path) -> None:
    with User(folder) as user:
        user.url()
        user.kill()
        wait_until(lambda: nothing_runs(folder))


def kill_keeper(folder: Path) -> None:
    os.kill(running(folder).keeper, signal.SIGKILL)


def kill_postmaster(folder: Path) -> None:
    os.kill(running(folder).postmaster, signal.SIGKILL)


def kill_all(folder: Path) -> None:
    for process in (running(folder).keeper, *processes_in(Layout.at(folder).data)):
        with suppress(ProcessLookupError):  # workers come and go
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_keeper, kill_postmaster, kill_all])
@pytest.mark.parametrize("at_once", [True, False])
def test_the_next_start_recovers_from_a_kill(own_folder: Path, kill: Callable[[Path], None], at_once: bool) -> None:
    with User(own_folder) as user:
        url = user.url()
        tell(url, "create table kept as select 42 as n")
        kill(own_folder)
        # With a user still there: what is left of the server ends by itself.
        layout = Layout.at(own_folder)
        wait_until(lambda: locks.is_free(layout.keeper_lock) if at_once else nothing_runs(own_folder))
        with embedded.start(own_folder) as postgres:
            assert ask(postgres.url, "select n from kept") == 42
            assert ask(url, "select n from kept") == 42, "the user's old address works again"
        user.kill()


def test_a_server_without_its_keeper_has_ended_before_another_starts(own_folder: Path) -> None:
    with User(own_folder) as user:
        user.url()
        old = running(own_folder)
        os.kill(old.postmaster, signal.SIGSTOP)
        kill_keeper(own_folder)
        wait_until(lambda: locks.is_free(Layout.at(own_folder).keeper_lock))
        with User(own_folder) as newcomer:
            wait_until(lambda: keeper_of(own_folder))
            with pytest.raises(subprocess.TimeoutExpired):
                newcomer.process.wait(0.5)
            os.kill(old.postmaster, signal.SIGCONT)
            assert ask(newcomer.url(), "select 1") == 1
            assert running(own_folder).postmaster != old.postmaster


@pytest.fixture
def starting(fresh: Path) -> User:
    """A user whose first start is in the middle of initdb."""
    user = User(fresh)
    wait_until(lambda: any(fresh.glob("server/initdb-*/data/base/1/*")))
    return user


def test_a_kill_during_initdb_does_not_poison_the_folder(fresh: Path, starting: User) -> None:
    with starting:
        keeper = keeper_of(fresh)
        assert keeper is not None
        os.kill(keeper, signal.SIGKILL)
        starting.kill()
    assert not Layout.at(fresh).data.exists()
    with embedded.start(fresh) as postgres:
        assert ask(postgres.url, "select 1") == 1
    assert not list(fresh.glob("server/initdb-*"))


def test_ctrl_c_while_starting_leaves_nothing_behind(fresh: Path, starting: User) -> None:
    with starting:
        starting.kill(signal.SIGINT)
        wait_until(lambda: keeper_of(fresh) is None)
    assert nothing_runs(fresh)
    assert not list(fresh.glob("server/initdb-*"))
    assert not Layout.at(fresh).data.exists()


def test_who_waits_for_a_starter_that_is_killed_gets_the_server_it_began(fresh: Path, starting: User) -> None:
    with starting, User(fresh) as heir:
        starting.kill()
        assert ask(heir.url(), "select 1") == 1


def test_a_pid_file_that_names_some_other_process_is_not_believed(own_folder: Path) -> None:
    """After a restart of a container the old numbers belong to others, of the same user."""
    layout = Layout.at(own_folder)
    owner = layout.server.stat().st_uid
    sleep = shutil.which("sleep")
    assert sleep is not None
    with subprocess.Popen([sleep, "60"], user=owner, cwd="/") as other:
        for lie in (layout.data / "postmaster.pid", layout.run / ".s.PGSQL.5432.lock"):
            lie.write_text(f"{other.pid}\n{layout.data}\n1\n5432\n{layout.run}\n\n  1  1\nready\n")
        try:
            with embedded.start(own_folder) as postgres:
                assert ask(postgres.url, "select 1") == 1
        finally:
            other.kill()


def test_a_postgres_that_is_not_ours_is_left_alone(own_folder: Path) -> None:
    """Somebody may have started one by hand on the same data."""
    layout = Layout.at(own_folder)
    owner = pwd.getpwuid(layout.server.stat().st_uid)
    sleep = shutil.which("sleep")
    assert sleep is not None
    with subprocess.Popen([sleep, "60"], user=owner.pw_uid, cwd=layout.data) as other:
        (layout.data / "postmaster.pid").write_text(f"{other.pid}\n{layout.data}\n1\n5432\n\n\n  1  1\nready\n")
        try:
            with pytest.raises(embedded.EmbeddedError, match=f"process {other.pid}.*stop it first"):
                embedded.start(own_folder)
        finally:
            other.kill()
