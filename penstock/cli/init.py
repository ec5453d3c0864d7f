"""`penstock init`: an application to begin with."""

import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Json
from penstock.cli.output import explained, out, print_json
from penstock.errors import PenstockError

WRITTEN = {"app.py": "app.py", "test_app.py": "test_app.py", "README.md": "README.md", ".gitignore": "gitignore"}
"""By the name they get, what they are called in the package: wheels carry no hidden files."""


def init(
    folder: Annotated[Path, typer.Argument(help="Where; it is made if there is none.")] = Path(),
    json: Json = False,
) -> None:
    """Write a small application to begin with: two handlers, a flow with live progress, a test.

    Nothing is overwritten.
    """
    with explained(json):
        there = [name for name in WRITTEN if (folder / name).exists()]
        if there:
            raise PenstockError(
                f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} in {folder} already, and nothing is "
                "overwritten: name another folder, as in `penstock init hello`"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, source in WRITTEN.items():
                (folder / name).write_text((files(__package__) / "starter" / source).read_text("utf-8"), "utf-8")
        except OSError as error:
            raise PenstockError(f"{folder} cannot be written to: {error.strerror}; name another folder") from None
        _tell(folder, json)


def _tell(folder: Path, json: bool) -> None:
    there = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    commands = [
        f"{there}penstock up app:app",
        f'{there}penstock enqueue book \'{{"title": "Rivers"}}\' --app app:app --wait',
    ]
    if json:
        print_json({"files": [str(folder / name) for name in WRITTEN], "next": commands})
        return
    out.print(f"wrote {', '.join(WRITTEN)}{'' if not there else f' in {folder}'}\n", highlight=False, markup=False)
    for command, note in zip(commands, ("everything, until Ctrl-C", "in a second terminal: a book"), strict=True):
        out.print(f"  {command}   # {note}", highlight=False, markup=False, soft_wrap=True)
