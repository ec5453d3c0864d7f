"""The keeper's program, run by its path, wherever the starter found this package.

Importing all of penstock takes 0.25 s, which would triple the time of a start. So the package is entered by a
side door: its name, without what its __init__ imports.
"""

import sys
from pathlib import Path
from types import ModuleType


def run() -> None:
    package = ModuleType("penstock")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules["penstock"] = package
    from penstock.embedded.keeper import main

    main(*sys.argv[1:])


if __name__ == "__main__":
    run()
