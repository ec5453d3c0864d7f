"""Who the server runs as: ourselves, or an unprivileged account when we are root, which Postgres refuses."""

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.errors import EmbeddedError


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
