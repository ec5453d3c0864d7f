"""Finding the application that a command names: package.module:app."""

import importlib
import sys
from pathlib import Path

from penstock.app import Penstock
from penstock.errors import PenstockError


class CannotLoad(PenstockError):
    """There is no application under the given name."""


def load_app(name: str) -> Penstock:
    """The Penstock object of `package.module:app`; `:app` may be left out. Also takes the path of a file."""
    module_name, _, attribute = name.partition(":")
    if module_name.endswith(".py"):
        module_name = ".".join(Path(module_name).with_suffix("").parts)
    # what runs as `penstock` does not see the folder it is run in by itself
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and not module_name.startswith(error.name):
            raise
        raise CannotLoad(
            f"there is no module {module_name!r} here ({Path.cwd()}): write it as package.module:app, "
            "and run the command in the folder that the package is in"
        ) from None
    if attribute:
        app = getattr(module, attribute, None)
        if not isinstance(app, Penstock):
            raise CannotLoad(
                f"{attribute!r} of {module_name} is {'no' if app is None else 'not a'} Penstock application"
            )
        return app
    apps = {key: value for key, value in vars(module).items() if isinstance(value, Penstock)}
    if len(set(map(id, apps.values()))) != 1:
        found = ", ".join(sorted(apps)) or "none"
        raise CannotLoad(f"which application of {module_name}? Write {module_name}:NAME; there is {found}")
    return next(iter(apps.values()))
