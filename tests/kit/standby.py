"""A Postgres and its streaming standby, on sockets of their own: where nothing can be written, and what is behind."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from penstock.embedded.account import Account, make_owned, server_account, within_reach
from penstock.embedded.binaries import find_binaries
from tests.kit.until import wait_until

_QUICK = "-c fsync=off -c shared_buffers=16MB -c wal_keep_size=64MB -c listen_addresses='' -c autovacuum=off"


class Node:
    """One of the two, by the name of its folder."""

    def __init__(self, folder: Path, binaries: Path, account: Account, options: str = "") -> None:
        self.folder = folder
        self.url = f"postgresql://postgres@/postgres?host={folder.parent}&port={5432 + (folder.name == 'standby')}"
        self._options = f"{_QUICK} -k {folder.parent} -p {self.url.rpartition('=')[2]} {options}"
        self._binaries = binaries
        self._account = account

    def run(self, program: str, *arguments: object) -> None:
        """As the account that Postgres runs as, where we are root."""
        who = self._account
        subprocess.run(
            [str(self._binaries / program), "-D", str(self.folder), *map(str, arguments)],
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder.parent, user=who.uid, group=who.gid,
            extra_groups=who.groups,
        )  # fmt: skip

    def start(self) -> None:
        self.run("pg_ctl", "-w", "-l", f"{self.folder}.log", "-o", self._options, "start")

    def stop(self, how: str = "fast") -> None:
        self.run("pg_ctl", "-w", "-m", how, "stop")

    @property
    def runs(self) -> bool:
        return (self.folder / "postmaster.pid").exists()


class Pair:
    def __init__(self, primary: Node, standby: Node) -> None:
        self.primary = primary
        self.standby = standby

    def catch_up(self) -> None:
        """Waits until the standby has all that is on the primary now."""
        with (
            psycopg.connect(self.primary.url, autocommit=True) as ahead,
            psycopg.connect(self.standby.url, autocommit=True) as behind,
        ):
            [(now,)] = ahead.execute("select pg_current_wal_lsn()::text").fetchall()
            there = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
            wait_until(lambda: behind.execute(there, [now]).fetchone() == (True,))

    @contextmanager
    def behind(self) -> Iterator[None]:
        """What is written meanwhile reaches the standby, and is not seen there."""
        with psycopg.connect(self.standby.url, autocommit=True) as connection:
            connection.execute("select pg_wal_replay_pause()")
            paused = "select pg_get_wal_replay_pause_state()"
            wait_until(lambda: connection.execute(paused).fetchone() == ("paused",))
            try:
                yield
            finally:
                connection.execute("select pg_wal_replay_resume()")


@contextmanager
def primary_and_standby() -> Iterator[Pair]:
    """The standby is a copy of the primary's folder from before its first start: pg_basebackup would copy it while both
    wait for a checkpoint."""
    memory = Path("/dev/shm")
    parent = Path(tempfile.mkdtemp(prefix="penstock-pair-", dir=memory if os.access(memory, os.W_OK) else None))
    parent.chmod(0o755)
    home = parent / "pg"
    account = server_account(home)
    make_owned(home, account)
    binaries = within_reach(find_binaries(), account, shipped="PENSTOCK_PG_BIN" not in os.environ)
    primary = Node(home / "primary", binaries, account)
    standby = Node(
        home / "standby", binaries, account,
        f"-c primary_conninfo='host={home} port=5432 user=postgres' -c wal_retrieve_retry_interval=50ms",
    )  # fmt: skip
    try:
        how = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        primary.run("initdb", *how)
        subprocess.run(["cp", "-a", primary.folder, standby.folder], check=True)
        (standby.folder / "standby.signal").touch()
        for node in (primary, standby):
            node.start()
        yield Pair(primary, standby)
    finally:
        for node in (standby, primary):
            if node.runs:
                node.stop("immediate")
        shutil.rmtree(parent)
