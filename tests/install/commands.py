"""Run where the command line is installed and no other extra: runs commands, and prints how each ended as JSON."""

import json
import sys

from typer.testing import CliRunner

from penstock.cli.commands import cli


def main() -> None:
    ended = []
    for arguments in json.load(sys.stdin):
        result = CliRunner().invoke(cli, arguments)
        trouble = None if isinstance(result.exception, SystemExit | None) else repr(result.exception)
        ended.append([result.exit_code, result.stderr, trouble])
    json.dump(ended, sys.stdout)


if __name__ == "__main__":
    main()
