"""On what figures were measured, when, and of which versions: without that they mean little."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg


def machine(url: str) -> dict[str, Any]:
    """This one, and the Postgres at this address."""
    with psycopg.connect(url) as connection:
        return {**here(), "postgres": connection.info.parameter_status("server_version")}


def here() -> dict[str, Any]:
    [cpu, *_] = [
        line.partition(":")[2].strip() for line in _text("/proc/cpuinfo").splitlines() if line.startswith("model name")
    ] or [platform.machine()]
    return {
        "cpu": cpu, "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(), "penstock": metadata.version("penstock"),
        "measured_at": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


def told(machine: Mapping[str, Any]) -> str:
    """For a page, without a full stop: what else there is to tell follows."""
    return (
        f"Measured on {machine['measured_at']}: Penstock {machine['penstock']}; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}; "
        f"Python {machine['python']}; PostgreSQL {machine['postgres']}"
    )


def _text(file: str) -> str:
    path = Path(file)
    return path.read_text() if path.exists() else ""
