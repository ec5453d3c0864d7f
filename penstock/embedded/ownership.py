"""Folders that belong to the server's account: made by us or verified, never taken over from somebody."""

import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.embedded.account import Account
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Home

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


def make_server_folder(home: Home, account: Account) -> None:
    """Make `server/` with all that a server needs in it, in one step, so that an existing one is whole."""
    for left_behind in home.folder.glob(".server-*"):
        shutil.rmtree(left_behind)
    if not home.server.exists():
        draft = home.folder / f".server-{secrets.token_hex(4)}"
        make_owned(draft, account)
        make_owned(draft / home.run.name, account)
        draft.rename(home.server)
    _verify(home.server, account)


@contextmanager
def socket_folder(home: Home, account: Account) -> Iterator[Path]:
    """`server/run`, or a short folder elsewhere when clients could not name a socket in it.

    The address of a socket has about 107 bytes, and libpq takes a comma for the end of a host.
    """
    if _can_be_named(home.run):
        yield home.run
        return
    name = hashlib.sha256(os.fsencode(home.folder)).hexdigest()[:16]
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
