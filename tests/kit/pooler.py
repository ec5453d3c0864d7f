"""A real PgBouncer between the application and the database, which gives each transaction another session."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.embedded.account import server_account
from tests.kit.until import wait_until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

POOLED = bool(os.environ.get("PENSTOCK_TESTS_POOLED"))
"""Whether the tests of the engine go through it: make test-pooled."""

SESSIONS = 4
"""Fewer than there are clients: what one leaves behind in its session, another finds."""


@contextmanager
def pgbouncer(url: str) -> Iterator[str]:
    """The address of a PgBouncer in transaction mode in front of the database."""
    with pgbouncer_for(url, SESSIONS) as bounced:
        yield bounced(url)


@contextmanager
def pgbouncer_for(
    url: str, sessions: int, logins: Mapping[str, str] | None = None, settings: str = ""
) -> Iterator[Callable[[str], str]]:
    """One in front of every database of the server: it turns their addresses into those that lead through it. `logins`
    are those that connect besides the address's own, with their passwords."""
    if PROGRAM is None:
        raise RuntimeError("needs PgBouncer: apt-get install pgbouncer")
    parts = conninfo_to_dict(url)
    # PgBouncer refuses to be root; whoever runs the server reaches its socket
    account = server_account(Path(str(parts["host"])).parent)
    with TemporaryDirectory(prefix="penstock") as name, socket.socket() as place:
        folder = Path(name)
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
        place.close()
        known = {str(parts["user"]): str(parts["password"]), **(logins or {})}
        (folder / "users").write_text("".join(f'"{name}" "{password}"\n' for name, password in known.items()))
        (folder / "settings").write_text(f"""
[databases]
* = host={parts["host"]} port={parts["port"]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder / "users"}
pool_mode = transaction
default_pool_size = {sessions}
# each transaction another session, where there is another
server_round_robin = 1
server_idle_timeout = 10
max_client_conn = 400
{_keep_no_statements()}
{settings}
""")
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.owner, -1)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [PROGRAM, str(folder / "settings")],
                user=account.uid,
                group=account.gid,
                extra_groups=account.groups,
                stderr=log,
                start_new_session=True,
            )

        def bounced(url: str) -> str:
            return make_conninfo(url, host="127.0.0.1", port=port)

        def answers() -> bool:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                psycopg.connect(bounced(url)).close()
            except psycopg.OperationalError:
                return False
            return True

        try:
            wait_until(answers)
            yield bounced
        finally:
            process.kill()
            process.wait()


def _keep_no_statements() -> str:
    """A statement prepared in one session is unknown in the next, as always before 1.21, which can bridge that."""
    version = re.search(r"(\d+)\.(\d+)", subprocess.check_output([str(PROGRAM), "--version"], text=True))
    assert version is not None
    return "max_prepared_statements = 0" if (int(version[1]), int(version[2])) >= (1, 21) else ""
