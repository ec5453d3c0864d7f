"""Where the pages are: below whatever this server is mounted at, or whatever a trusted proxy says that it is."""

from urllib.parse import urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from penstock.server.dashboard.headers import HEADERS
from penstock.storage.links import address


def base() -> str:
    """The path before every page's own, without a slash at its end."""
    return urlsplit(address.get() or "").path.rstrip("/")


def url(path: str, **query: object) -> str:
    """A page's address for a link: `url("/jobs", state="failed")`. What is None is left out."""
    return base() + path_with(path, **query)


def redirect(path: str, **query: object) -> Response:
    """To a page of ours. Its address is made absolute on the way out, as that of any other answer."""
    return RedirectResponse(path_with(path, **query), 303, HEADERS)


def path_with(path: str, **query: object) -> str:
    """The same for a redirect."""
    given = [(name, value) for name, value in query.items() if value is not None]
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def safe_path(text: str | None) -> str:
    """Where to go after signing in: a path of ours, or the first page when it could lead anywhere else."""
    given = text or "/"
    leads_away = given[:2] in ("//", "/\\") or not given.startswith("/")
    return "/" if leads_away or len(given) > 2000 or not given.isprintable() or "\\" in given else given
