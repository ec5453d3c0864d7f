"""The committed picture of the schema, penstock/sql/schema.sql. To paint it anew: `python -m tests.sql.dump_schema`.

It is pg_dump's, without what differs from day to day and from version to version. Of functions it shows the signatures:
their bodies have files of their own.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import penstock.sql
from penstock import embedded
from penstock.embedded.binaries import Version, shipped_binaries
from penstock.engine.postgres.migrate import migrate

COMMITTED = Path(penstock.sql.__file__).with_name("schema.sql")
REFRESH = "python -m tests.sql.dump_schema"
_HEADING = (
    f"-- What the migrations make, as pg_dump tells it; functions without their bodies. To refresh it: {REFRESH}\n"
)


def newest_shipped() -> Path:
    """The programs whose output is the one we compare."""
    return max(shipped_binaries(), key=lambda folder: Version.of(folder).major)


def dump_schema(url: str) -> str:
    """The schema of a migrated database, for people to read and tests to compare."""
    # which partitions there are depends on the day, and lz4 on how the server was built
    options = ["--schema-only", "--no-owner", "--schema=penstock", "--no-toast-compression"]
    options += [f"--exclude-table=penstock.{table}_[0-9]*" for table in ("history", "payloads", "errors")]
    command = [str(newest_shipped() / "pg_dump"), *options, url]
    return normalize(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def normalize(dump: str) -> str:
    """Object by object, each with a line that names it, and nothing else."""
    objects = re.split(r"\n--\n-- (Name: .*)\n--\n", dump)
    about, statements = objects[1::2], objects[2::2]
    written = []
    for name, statement in zip(about, statements, strict=True):
        if "; Type: FUNCTION;" in name:
            statement = re.split(r"\n    (?:AS \$|RETURN |BEGIN ATOMIC)", statement)[0].rstrip(";\n") + ";"
        lines = [line for line in statement.splitlines() if not re.match(r"SET |\\|--|.* SET STORAGE ", line)]
        written.append(f"-- {name}\n" + re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip() + "\n")
    return "\n".join([_HEADING, *written])


def refresh() -> None:
    with tempfile.TemporaryDirectory() as folder, embedded.start(folder) as postgres:
        migrate(postgres.url)
        COMMITTED.write_text(dump_schema(postgres.url), "utf-8")


if __name__ == "__main__":
    refresh()
