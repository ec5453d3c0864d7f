"""The folder a user names, and where everything in it lives; postgres.log, kept to a sane size, too."""

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.errors import EmbeddedError


@dataclass(frozen=True)
class Layout:
    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Layout":
        return cls(Path(folder).resolve())

    @property
    def start_lock(self) -> Path:
        return self.folder / "start.lock"

    @property
    def users_lock(self) -> Path:
        return self.folder / "users.lock"

    @property
    def keeper_lock(self) -> Path:
        return self.folder / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        return self.folder / "server.lock"

    @property
    def running(self) -> Path:
        """Describes the running server; to be believed only while the keeper's lock is held."""
        return self.folder / "running.json"

    @property
    def stay(self) -> Path:
        """Its presence tells the keeper not to stop when the last user has left."""
        return self.folder / "stay"

    @property
    def password(self) -> Path:
        return self.folder / "password"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    @property
    def server(self) -> Path:
        """The one folder that belongs to the account the server runs as."""
        return self.folder / "server"

    @property
    def data(self) -> Path:
        return self.server / "data"

    @property
    def run(self) -> Path:
        """Holds the socket."""
        return self.server / "run"

    def create(self) -> None:
        """Make the folder unless it is there, closed to others and ignored by git."""
        # As root the server's account has to pass through, but need not look around.
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode)
            (self.folder / ".gitignore").write_text("*\n")
        except FileExistsError:
            pass
        except OSError as problem:
            raise EmbeddedError(
                f"cannot make the folder {self.folder}: {problem.strerror}; name a folder you may write to"
            ) from problem
        if not self.folder.is_dir() or not os.access(self.folder, os.W_OK | os.X_OK):
            raise EmbeddedError(f"{self.folder} is not a folder you may write to; name another one")

    def read_password(self) -> str:
        return self.password.read_text().strip()


def new_password() -> str:
    return secrets.token_urlsafe(24)


def write_private(path: Path, text: str) -> None:
    """Write a file that only we may read, all of it or nothing."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


LARGEST = 10 * 1024 * 1024
LINES_IN_AN_ERROR = 15


def open_log(path: Path) -> int:
    # O_APPEND: the server goes on writing at the end after `trim` has emptied the file.
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def trim(path: Path, largest: int = LARGEST) -> None:
    """Move a large log to `postgres.log.1`. Lines written during the copy are the price of no log daemon."""
    # A full disk must not take the server down with it.
    with suppress(OSError):
        if path.stat().st_size > largest:
            older = path.with_name(path.name + ".1")
            older.unlink(missing_ok=True)
            shutil.copyfile(path, older)
            os.truncate(path, 0)


def last_lines(path: Path, since: int = 0) -> str:
    """The end of what was logged after the first `since` bytes, for an error message."""
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(max(since if since <= size else 0, size - 64 * 1024))
        lines = log.read().decode(errors="replace").splitlines()
    shown = "\n".join(f"  {line}" for line in lines[-LINES_IN_AN_ERROR:]) or "  (nothing was logged)"
    return f"the end of {path}:\n{shown}"
