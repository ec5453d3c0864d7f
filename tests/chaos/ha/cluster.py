"""Three nodes, each with an etcd, a Patroni and a Postgres, replicating synchronously to one another."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from penstock.embedded.account import Account, server_account, within_reach
from penstock.embedded.binaries import find_binaries
from tests.chaos.ha.network import Machine, network

ROOT = Path(__file__).parents[3]
TIMEOUT = 120.0
RECOVERY = {"max_connections": 100, "shared_buffers": "32MB", "wal_log_hints": "on", "max_wal_size": "128MB"}


class NotToBeHad(Exception):
    """Something that it needs is not on this machine; the text says how to get it."""


def needed() -> tuple[str, str]:
    """Where etcd and Patroni are."""
    etcd, patroni = shutil.which("etcd"), ROOT / ".cache" / "patroni" / "bin" / "patroni"
    if os.geteuid() != 0:
        raise NotToBeHad("only root can make network namespaces")
    if etcd is None:
        raise NotToBeHad("etcd is missing: apt-get install etcd-server")
    if not patroni.exists():
        # not ours: whoever Postgres runs as cannot reach a Python in root's home
        try:
            _run("/usr/bin/python3", "-m", "venv", "--clear", patroni.parent.parent)
            _run(patroni.parent / "pip", "install", "--quiet", "patroni[etcd3,psycopg3]==4.1.5")
        except (OSError, subprocess.CalledProcessError) as failure:
            said = getattr(failure, "stderr", None) or str(failure)
            raise NotToBeHad(f"Patroni cannot be installed: {said.strip().splitlines()[-1]}") from None
    return etcd, str(patroni)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


class Node:
    """One of the three: its processes are in its machine's namespace, and in a session of their own."""

    def __init__(self, machine: Machine, folder: Path, account: Account) -> None:
        self.machine = machine
        self._folder = folder
        self._account = account
        self._programs: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def name(self) -> str:
        return f"node{self.machine.number}"

    @property
    def address(self) -> str:
        return self.machine.address

    def start(self, what: str, command: Sequence[str | Path]) -> None:
        """As the account that Postgres wants; patroni starts Postgres itself."""
        switch = ["setpriv", f"--reuid={self._account.owner}", f"--regid={self._account.gid}", "--clear-groups"]
        with (self._folder / f"{what}.log").open("ab") as log:
            self._programs[what] = subprocess.Popen(
                ["ip", "netns", "exec", self.machine.name, *switch, *map(str, command)],
                cwd=self._folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, *, with_etcd: bool = False) -> None:
        """Everything at once, as if its power was cut."""
        for what in ("patroni", "etcd") if with_etcd else ("patroni",):
            program = self._programs.pop(what, None)
            if program is not None:
                program.kill()
                program.wait()
        self._kill_postgres()

    def _kill_postgres(self) -> None:
        """The postmaster first, for it replaces those it misses, and an old leader that lives on takes writes."""
        with suppress(FileNotFoundError):
            postmaster = self._postmaster()
            children = _children(postmaster)
            for process in (postmaster, *children):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def _postmaster(self) -> int:
        return int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def signal(self, of: str, how: signal.Signals) -> None:
        """To those of its Postgres' processes that are called so."""
        for child in _children(self._postmaster()):
            if of in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(child, how)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(
            f"host={self.address} port=5432 user=postgres dbname=postgres", autocommit=True, connect_timeout=2
        )

    def is_primary(self) -> bool:
        with suppress(psycopg.Error), self.connect() as connection:
            return connection.execute("select pg_is_in_recovery()").fetchall() == [(False,)]
        return False

    def ask(self, path: str, body: object = None) -> Any:
        """Patroni's own API."""
        data = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.address}:8008{path}", data, kind)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text


def _children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in found.split()]


class Cluster:
    """What a storm takes for its server."""

    disk = None
    promoted: Node | None = None
    """Who was the last."""

    def __init__(self, folder: Path, machines: Sequence[Machine], programs: tuple[str, str], account: Account) -> None:
        self._etcd, self._patroni = programs
        self._folder = folder
        self.nodes = [Node(machine, self._home(machine), account) for machine in machines]
        self._account = account

    def _home(self, machine: Machine) -> Path:
        return self._folder / f"node{machine.number}"

    @property
    def url(self) -> str:
        """All of them; whoever connects finds the one that takes writes."""
        return self._naming(self.nodes)

    @property
    def own_url(self) -> str:
        """For the harness: who was promoted last comes first. One that is cut off takes two seconds of each attempt,
        which would count as the application's."""
        return self._naming(sorted(self.nodes, key=lambda node: node is not self.promoted))

    def _naming(self, nodes: Sequence[Node]) -> str:
        hosts = ",".join(node.address for node in nodes)
        return f"host={hosts} port=5432 user=postgres dbname=postgres target_session_attrs=read-write connect_timeout=2"

    def start(self) -> None:
        for node in self.nodes:
            home = self._home(node.machine)
            home.mkdir(0o700)
            os.chown(home, self._account.owner, self._account.gid or -1)
            self.start_etcd(node)
        for node in self.nodes:
            (self._home(node.machine) / "patroni.json").write_text(json.dumps(self._settings(node)))
            self.start_patroni(node)
        wait_for(self.whole, "three nodes")

    def start_etcd(self, node: Node) -> None:
        peers = ",".join(f"{each.name}=http://{each.address}:2380" for each in self.nodes)
        clients, own = f"http://{node.address}:2379", f"http://{node.address}:2380"
        node.start("etcd", [
            self._etcd, "--name", node.name, "--data-dir", "etcd", "--initial-cluster", peers,
            "--listen-peer-urls", own, "--initial-advertise-peer-urls", own,
            "--listen-client-urls", clients, "--advertise-client-urls", clients,
        ])  # fmt: skip

    def start_patroni(self, node: Node) -> None:
        node.start("patroni", [self._patroni, "patroni.json"])

    def _settings(self, node: Node) -> dict[str, Any]:
        here = "10.213.77.0/24 trust"
        anybody = ["local all all trust", f"host all all {here}", f"host replication all {here}"]
        return {
            "scope": "penstock",
            "name": node.name,
            "restapi": {"listen": f"{node.address}:8008", "connect_address": f"{node.address}:8008"},
            "etcd3": {"hosts": [f"{each.address}:2379" for each in self.nodes]},
            "bootstrap": {
                "dcs": {
                    # the shortest that Patroni takes
                    "ttl": 20,
                    "loop_wait": 2,
                    "retry_timeout": 3,
                    "primary_start_timeout": 0,
                    "synchronous_mode": True,
                    "synchronous_mode_strict": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": RECOVERY, "pg_hba": anybody},
                },
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{node.address}:5432",
                "connect_address": f"{node.address}:5432",
                "data_dir": "data",
                "bin_dir": str(within_reach(find_binaries(), self._account, shipped=True)),
                "authentication": {name: {"username": "postgres"} for name in ("superuser", "replication", "rewind")},
                "parameters": {"unix_socket_directories": str(self._home(node.machine))},
            },
        }

    def leader(self) -> Node | None:
        """Who takes writes; the first of them that answers."""
        return next((node for node in self.nodes if node.is_primary()), None)

    def in_step(self) -> list[Node]:
        """Those whom a commit waits for."""
        return [self._by_address(address) for address, state in self._replicas() if state == "sync"]

    def _replicas(self) -> list[tuple[str, str]]:
        leader = self.leader()
        if leader is None:
            return []
        with suppress(psycopg.Error), leader.connect() as connection:
            # a base backup streams too
            asked = """
                select host(client_addr), sync_state from pg_stat_replication
                 where state = 'streaming' and application_name like 'node%'
            """
            return [(str(address), str(state)) for address, state in connection.execute(asked.encode())]
        return []

    def _by_address(self, address: str) -> Node:
        return next(node for node in self.nodes if node.address == address)

    def whole(self) -> bool:
        """Whether two follow the leader, one of them in step; and etcd knows that, or nobody may take over."""
        in_step = {node.name for node in self.in_step()}
        return len(self._replicas()) == 2 and bool(in_step) and self._known_in_step() == in_step

    def _known_in_step(self) -> set[str]:
        """Postgres says it of the first that comes, before Patroni has written down whom it chose."""
        leader = self.leader()
        if leader is not None:
            with suppress(OSError):  # its Patroni may be away
                members = leader.ask("/cluster")["members"]
                return {member["name"] for member in members if member["role"] == "sync_standby"}
        return set()

    def connect(self) -> psycopg.Connection[Any]:
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return psycopg.connect(self.own_url, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        for node in self.nodes:
            node.kill(with_etcd=True)


def wait_for(true: Callable[[], object], what: str, timeout: float = TIMEOUT) -> None:
    deadline = time.monotonic() + timeout
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:.0f} s for {what}")
        time.sleep(0.05)


@contextmanager
def run_cluster(logs: Path | None = None) -> Iterator[Cluster]:
    """Three nodes in folders of their own; nothing of them is left in the end."""
    programs = needed()
    folder = Path(tempfile.mkdtemp(prefix="penstock-ha-", dir="/dev/shm"))
    try:
        folder.chmod(0o755)
        with network(3) as machines:
            cluster = Cluster(folder, machines, programs, server_account(folder))
            try:
                cluster.start()
                yield cluster
            finally:
                cluster.close()
    finally:
        if logs is not None:
            for log in folder.glob("*/*.log"):
                logs.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, logs / f"{log.parent.name}-{log.name}")
        shutil.rmtree(folder)
