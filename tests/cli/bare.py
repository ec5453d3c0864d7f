"""A program in which nothing of the extras can be imported: runs commands, and prints how each ended as JSON."""

import json
import sys

from penstock.cli.extras import EXTRAS


def main() -> None:
    sys.modules.update(dict.fromkeys(EXTRAS))  # type: ignore[arg-type]  # None: not to be imported
    from typer.testing import CliRunner

    from penstock.cli.commands import cli

    ended = []
    for arguments in json.load(sys.stdin):
        result = CliRunner().invoke(cli, arguments)
        trouble = None if isinstance(result.exception, SystemExit | None) else repr(result.exception)
        ended.append([result.exit_code, result.stderr, trouble])
    json.dump(ended, sys.stdout)


if __name__ == "__main__":
    main()
