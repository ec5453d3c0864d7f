"""The data of a server: made once, whole or not at all, and checked before each use."""

import os
import shutil
from pathlib import Path

from penstock.embedded.account import make_owned
from penstock.embedded.binaries import Version, shipped_binaries
from penstock.embedded.children import Children, Place
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, new_password, write_private

NEW = "initdb-"


def prepare_cluster(layout: Layout, children: Children) -> None:
    """Make the data folder, or make sure that these programs and the password fit the one that is there."""
    for unfinished in layout.server.glob(f"{NEW}*"):
        shutil.rmtree(unfinished)
    if layout.data.exists():
        _refuse_another_version(layout, children)
        if not layout.password.exists():
            _change_password(layout, children)
    else:
        _create(layout, children)


def _create(layout: Layout, children: Children) -> None:
    if not layout.password.exists():
        write_private(layout.password, new_password())
    password = layout.read_password()
    draft = layout.server / f"{NEW}{os.getpid()}"
    make_owned(draft, children.account)
    data = draft / "data"
    make_owned(data, children.account)
    try:
        _give(draft / "password", password, children)
        with children.within(data) as place:
            # Synced once, at the end, before the rename that makes it the data of this server.
            children.run(
                "initdb",
                f"--pgdata={place.path}",
                "--username=penstock",
                f"--pwfile={place.path}/../password",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
                place=place,
            )
            statements = f"create database penstock\n{_set_password(password)}"
            _tell(children, place, statements, "-F", *_hashed_once(children))
            children.run("initdb", f"--pgdata={place.path}", "--sync-only", place=place)
        data.rename(layout.data)
        _sync(layout.server)
    finally:
        shutil.rmtree(draft)


def _set_password(password: str) -> str:
    return "alter role penstock password '{}'".format(password.replace("'", "''"))


def _hashed_once(children: Children) -> list[str]:
    """To hash a password 4,096 times slows down whoever guesses, and each connection: by 2.4 of its 3.2 ms. Ours is
    random and beyond guessing. PostgreSQL 15 has no such setting."""
    return ["-c", "scram_iterations=1"] if Version.of(children.binaries).major >= 16 else []


def _tell(children: Children, data: Place, statements: str, *options: str) -> None:
    """Run statements, each in a line, in single-user mode, which needs neither a socket nor a password."""
    children.run(
        *("postgres", "--single", "-D", data.path, "-c", "exit_on_error=on", *options, "template1"),
        place=data,
        stdin=f"{statements}\n",
    )


def _give(path: Path, text: str, children: Children) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
        children.account.own(file.fileno())


def _change_password(layout: Layout, children: Children) -> None:
    """The password file is gone but the data is not: whoever may write this folder may choose another."""
    password = new_password()
    with children.within(layout.data) as data:
        _tell(children, data, _set_password(password), *_hashed_once(children))
    write_private(layout.password, password)


def _refuse_another_version(layout: Layout, children: Children) -> None:
    made_by = (layout.data / "PG_VERSION").read_text().strip()
    ours = Version.of(children.binaries)
    if made_by == str(ours.major):
        return
    raise EmbeddedError(
        f"the data in {layout.data} was made by PostgreSQL {made_by}, and PostgreSQL {ours.text} "
        f"(in {children.binaries}) cannot read it.\n"
        f"- To use it as it is, set PENSTOCK_PG_BIN to {_where_is(made_by)}.\n"
        f"- To move it to {ours.major}, do that, dump it with pg_dump, and restore it into another folder.\n"
        "- To begin without it, name another folder."
    )


def _where_is(major: str) -> str:
    for folder in shipped_binaries():
        if str(Version.of(folder).major) == major:
            return str(folder)
    return f"the bin folder of a PostgreSQL {major}"


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
