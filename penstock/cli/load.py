"""Finding the application that a command names: package.module:app."""

import importlib
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from penstock.app import Penstock
from penstock.errors import PenstockError
from penstock.extras import MissingExtra
from penstock.logs import shown


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
            raise _broken(module_name, error) from None
        raise CannotLoad(
            f"there is no module {module_name!r} here ({Path.cwd()}): write it as package.module:app, "
            "and run the command in the folder that the package is in"
        ) from None
    except MissingExtra:
        raise
    except Exception as error:
        raise _broken(module_name, error) from None
    apps = {key: value for key, value in vars(module).items() if isinstance(value, Penstock)}
    if attribute:
        app = getattr(module, attribute, None)
        if not isinstance(app, Penstock):
            there = "no such name" if app is None else "no Penstock application"
            raise CannotLoad(f"{attribute!r} of {module_name} is {there}: {_choice(module_name, apps)}")
        return app
    if len(set(map(id, apps.values()))) != 1:
        raise CannotLoad(f"which application of {module_name}? {_choice(module_name, apps)}")
    return next(iter(apps.values()))


def _choice(module: str, apps: Mapping[str, Penstock]) -> str:
    if apps:
        return f"write {' or '.join(f'{module}:{name}' for name in sorted(apps))}"
    return "make one there, `app = Penstock()`, or name the module that has it"


def _broken(module: str, error: Exception) -> CannotLoad:
    """Shows where in the application's own files it is: ours, and those of the import system, say nothing of that."""
    theirs = error.__traceback__
    while theirs is not None and _is_ours(theirs):
        theirs = theirs.tb_next
    sys.stderr.write(shown("".join(traceback.format_exception(error.with_traceback(theirs)))))
    return CannotLoad(
        f"{module} cannot be imported: {type(error).__name__}, as shown above; correct it, or install what is missing"
    )


def _is_ours(frame: TracebackType) -> bool:
    file = frame.tb_frame.f_code.co_filename
    return file.startswith("<frozen importlib") or file in (__file__, importlib.__file__)
