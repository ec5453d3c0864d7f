"""How to reach a server, and who may not."""

import socket
import stat
import tempfile
from pathlib import Path

import psycopg
import pytest

from penstock import embedded
from penstock.embedded import EmbeddedError
from penstock.embedded.folder import Layout

from .users import ask, running

pytestmark = pytest.mark.root


def with_another_password(url: str, folder: Path) -> str:
    return url.replace(Layout.at(folder).read_password(), "wrong")


def test_by_default_there_is_only_a_private_socket(folder: Path) -> None:
    with embedded.start(folder) as postgres:
        assert postgres.tcp_url is None
        assert ask(postgres.url, "show listen_addresses") == ""
        run = Path(running(folder).socket_folder)
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
        assert stat.S_IMODE((run / ".s.PGSQL.5432").stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "password").stat().st_mode) == 0o600
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(with_another_password(postgres.url, folder))


def test_tcp_is_on_loopback_and_wants_the_password(folder: Path) -> None:
    with embedded.start(folder, tcp=True) as postgres, embedded.start(folder) as joined:
        assert postgres.tcp_url is not None
        assert joined.tcp_url == postgres.tcp_url
        assert ask(postgres.tcp_url, "select host(inet_server_addr())") == "127.0.0.1"
        assert ask(postgres.tcp_url, "show listen_addresses") == "127.0.0.1"
        assert ask(postgres.url, "select inet_server_addr() is null")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(with_another_password(postgres.tcp_url, folder))


def test_a_port_can_be_chosen_and_a_taken_one_is_named(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=r"did not start(.|\n)*Address already in use"):
            embedded.start(folder, tcp=True, port=port)
    with embedded.start(folder, tcp=True, port=port) as postgres:
        assert postgres.tcp_url is not None
        assert f"@127.0.0.1:{port}/" in postgres.tcp_url


def test_a_running_server_that_differs_from_what_is_asked_is_refused(folder: Path) -> None:
    with embedded.start(folder, settings={"work_mem": "5MB"}) as postgres:
        assert ask(postgres.url, "show work_mem") == "5MB"
        with pytest.raises(EmbeddedError, match=r"without TCP.*stop it first"):
            embedded.start(folder, tcp=True)
        with pytest.raises(EmbeddedError, match=r"work_mem='6MB' .it has '5MB'"):
            embedded.start(folder, settings={"work_mem": "6MB"})
        # The refused ones hold nothing.
    embedded.start(folder, tcp=True).close()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"port": 5432}, "ask for tcp=True"),
        ({"tcp": True, "port": 70000}, "no TCP port"),
        ({"settings": {"port": "1"}}, "tcp and port arguments"),
        ({"settings": {"work mem": "1"}}, "no name of a Postgres setting"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_at_once(tmp_path: Path, asked: dict[str, object], says: str) -> None:
    with pytest.raises(EmbeddedError, match=says):
        embedded.start(tmp_path / "pg", **asked)  # type: ignore[arg-type]
    assert not (tmp_path / "pg").exists()


@pytest.mark.parametrize("name", ["deep" * 30, "one, two", "we ird %41'\"é"])
def test_any_folder_name_will_do(own_folder: Path, name: str) -> None:
    moved = own_folder.parent / name
    own_folder.rename(moved)
    with embedded.start(moved) as postgres:
        assert ask(postgres.url, "select 1") == 1
        sockets = Path(running(moved).socket_folder)
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert sockets == moved / "server" / "run" or not sockets.exists()


def test_a_short_socket_folder_that_somebody_else_made_is_refused(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Path(tempfile.mkdtemp(dir=own_folder.parent))
    shared.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(shared))
    long = own_folder.parent / ("deep" * 30)
    own_folder.rename(long)
    with embedded.start(long):
        trap = Path(running(long).socket_folder)
    assert trap.parent == shared
    trap.mkdir(0o755)
    with pytest.raises(EmbeddedError, match=f"{trap} is not a folder that only .* remove it"):
        embedded.start(long)
    trap.rmdir()
    trap.symlink_to(own_folder.parent)
    with pytest.raises(EmbeddedError, match="remove it"):
        embedded.start(long)


def test_a_server_that_fails_to_start_shows_its_log(folder: Path) -> None:
    with pytest.raises(EmbeddedError, match=r'(?s)did not start.*postgres\.log.*"work_mem": "nonsense"') as failed:
        embedded.start(folder, settings={"work_mem": "nonsense"})
    assert str(folder / "postgres.log") in str(failed.value)


def test_the_environment_of_the_starter_does_not_reach_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with embedded.start(folder) as postgres:
        monkeypatch.delenv("PGCLIENTENCODING")
        assert ask(postgres.url, "show client_encoding") == "UTF8"
