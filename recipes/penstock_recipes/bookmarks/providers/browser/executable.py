"""Where on this machine there is a Chromium."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from penstock import PenstockError

ON_PATH = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
_PROJECT = Path(__file__).parents[5]
# of `playwright install --only-shell chromium`, by its versions of different age and machine
_DOWNLOADED = ("chromium_headless_shell-*/chrome-*/*headless*shell", "chromium-*/chrome-*/chrome")


class NoBrowser(PenstockError):
    """There is no Chromium here, or it cannot be started."""


def find_chromium() -> str:
    """The program that `PENSTOCK_CHROMIUM` names, or the first that is found."""
    named = os.environ.get("PENSTOCK_CHROMIUM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoBrowser(f"PENSTOCK_CHROMIUM: there is no program {named}")
        return found
    for candidate in _candidates():
        return candidate
    raise NoBrowser(
        "no Chromium was found; apt-get install chromium-headless-shell, or playwright install --only-shell chromium, "
        "or name one: PENSTOCK_CHROMIUM=/path/to/chromium"
    )


def _candidates() -> Iterator[str]:
    # scripts/get-chromium puts one there for who may not install packages
    for folder in (Path.cwd(), _PROJECT):
        private = folder / ".chromium" / "chromium"
        if os.access(private, os.X_OK):
            yield str(private)
    for name in ON_PATH:
        if found := shutil.which(name):
            yield found
    downloads = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    for pattern in _DOWNLOADED:
        yield from (str(each) for each in sorted(downloads.glob(pattern), reverse=True) if os.access(each, os.X_OK))
