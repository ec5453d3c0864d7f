"""What is not installed, in one line that names the extra which brings it."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MissingExtra", "needs"]


class MissingExtra(ImportError):
    """A part of Penstock that is installed separately is not; `extra` brings it."""

    def __init__(self, message: str, extra: str, name: str | None = None) -> None:
        super().__init__(message, name=name)
        self.extra = extra


def pip_install(extra: str, distribution: str = "penstock") -> str:
    return f"pip install '{distribution}[{extra}]'"


@contextmanager
def needs(extra: str, what: str, distribution: str = "penstock") -> Iterator[None]:
    """Around imports: what cannot be found there is brought by the extra. `what` is what somebody wanted to use.

    Of several around each other the outermost is named: it brings what the inner ones need.
    """
    try:
        yield
    except (ModuleNotFoundError, MissingExtra) as error:
        if (error.name or "").partition(".")[0] in ("penstock", "libpq"):  # which no extra around it brings
            raise
        message = f"{what} needs {error.name}, which is not installed: {pip_install(extra, distribution)}"
        raise MissingExtra(message, extra, error.name) from None


@contextmanager
def needs_libpq() -> Iterator[None]:
    """Around the import of psycopg, which looks for the C library of Postgres when it has none of its own."""
    try:
        yield
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        message = f"psycopg finds no libpq here: {pip_install('binary')}, or the system's own, such as Debian's libpq5"
        raise MissingExtra(message, "binary", "libpq") from error
