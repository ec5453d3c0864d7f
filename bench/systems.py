"""The systems that are measured, and how the others come onto this machine."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from bench import processes

PEERS = processes.ROOT / ".cache" / "bench-peers"
REQUIREMENTS = processes.ROOT / "bench" / "peers" / "requirements.txt"
VENV = PEERS / "python"
NODE = PEERS / "node"
GRAPHILE = "0.18.0"


@dataclass(frozen=True)
class System:
    """A queue with a runner program, see bench/peers."""

    name: str
    command: tuple[str, ...]
    tables: str
    """What is emptied before a measurement."""
    unfinished: str
    jobs: str
    """The table, or view, in which somebody would look for waiting jobs."""
    waits: bool = True
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return "bench_" + self.name.replace("-", "_")


def _ours(module: str) -> tuple[str, ...]:
    return sys.executable, "-m", f"bench.peers.{module}"


def _theirs(module: str) -> tuple[str, ...]:
    return str(VENV / "bin" / "python"), "-m", f"bench.peers.{module}"


# In the order of measuring: those whose ratio counts are neighbours in time.
SYSTEMS = (
    System(
        "bare",
        _ours("run_bare"),
        tables="bare_jobs, bare_history, penstock.jobs",
        unfinished="select exists (select from bare_jobs)",
        jobs="bare_jobs",
        waits=False,
    ),
    System(
        "graphile-worker",
        ("node", str(processes.ROOT / "bench" / "peers" / "graphile.js"), str(NODE)),
        tables="graphile_worker._private_jobs",
        unfinished="select exists (select from graphile_worker._private_jobs)",
        jobs="graphile_worker._private_jobs",
        environment={"NO_LOG_SUCCESS": "1", "NODE_ENV": "production"},
    ),
    System(
        "penstock",
        _ours("run_penstock"),
        tables="penstock.jobs, penstock.history, penstock.payloads, "
        "penstock.usage_log, penstock.leases, penstock.heartbeats, penstock.waiting, penstock.vitals",
        unfinished="select exists (select from penstock.jobs)",
        jobs="penstock.jobs",
    ),
    System(
        "pgqueuer",
        _theirs("run_pgqueuer"),
        tables="pgqueuer, pgqueuer_log, pgqueuer_statistics",
        unfinished="select exists (select from pgqueuer)",
        jobs="pgqueuer",
    ),
    System(
        "procrastinate",
        _theirs("run_procrastinate"),
        tables="procrastinate_jobs, procrastinate_events, procrastinate_workers, procrastinate_periodic_defers",
        unfinished="select exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
        jobs="procrastinate_jobs",
    ),
)
BY_NAME = {system.name: system for system in SYSTEMS}
OURS = BY_NAME["penstock"]
NAPS = replace(OURS, command=_ours("run_naps"))
AWA = System(
    "awa",
    _theirs("run_awa"),
    # what it keeps in sequences and rings would not fit emptied tables; a run job is finished a moment later
    tables="",
    unfinished="select false",
    jobs="awa.ready_entries",
)
# Those that keep up with some thousand jobs a second, ours first: a failure of a peer then costs nothing.
STEADY = (OURS, BY_NAME["graphile-worker"], BY_NAME["pgqueuer"], AWA)


def chosen(among: Sequence[System], only: Sequence[str] | None, console: Console) -> list[System]:
    """Those asked for that can be measured here; says which cannot."""
    wanted = [system for system in among if not only or system.name in only]
    for system in wanted:
        if lack := lacks(system):
            console.print(f"[yellow]{system.name} is left out: {lack}[/]")
    present = [system for system in wanted if not lacks(system)]
    if not present:
        raise SystemExit("nothing is left to measure")
    return present


def names(systems: Sequence[System]) -> list[str]:
    return [system.name for system in systems]


def lacks(system: System) -> str | None:
    """Why a system cannot be measured here, if it cannot."""
    if system.name == "graphile-worker" and not (shutil.which("node") and shutil.which("npm")):
        return "there is no node or no npm"
    return None


async def install(system: System) -> None:
    """Brings what this system needs, unless it is there from an earlier run."""
    match system.name:
        case "pgqueuer" | "procrastinate" | "awa":
            await _install_python()
        case "graphile-worker":
            await _install_node()


async def _install_python() -> None:
    installed = VENV / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if installed.exists() and installed.read_text() == wanted:
        return
    await processes.run("venv", (sys.executable, "-m", "venv", "--clear", str(VENV)))
    pip = (str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    await processes.run("pip", (*pip, "--requirement", str(REQUIREMENTS)))
    installed.write_text(wanted)


async def _install_node() -> None:
    if _graphile_version() == GRAPHILE:
        return
    NODE.mkdir(parents=True, exist_ok=True)
    npm = ("npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", str(NODE))
    await processes.run("npm", (*npm, f"graphile-worker@{GRAPHILE}"))


def _graphile_version() -> str | None:
    try:
        package: dict[str, str] = json.loads(Path(NODE, "node_modules/graphile-worker/package.json").read_text())
    except FileNotFoundError:
        return None
    return package["version"]
