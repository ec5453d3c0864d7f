"""The recipes without what their extras bring: runs commands, and prints how each ended as JSON."""

import json
import sys

EXTRAS = ("PIL", "anthropic", "av", "blurhash_rs", "ephem", "espeakng_loader", "lameenc", "moonshine_voice",
          "onnxruntime", "pikepdf", "pocketsphinx", "pymupdf_fonts", "pypdfium2", "rapidocr", "typst")  # fmt: skip


def main() -> None:
    sys.modules.update(dict.fromkeys(EXTRAS))  # type: ignore[arg-type]  # None: not to be imported
    from typer.testing import CliRunner

    from penstock.cli.commands import cli

    ended = [CliRunner().invoke(cli, arguments) for arguments in json.load(sys.stdin)]
    json.dump([[result.exit_code, result.stderr, repr(result.exception)] for result in ended], sys.stdout)


if __name__ == "__main__":
    main()
