"""Pages of applications, under a policy that lets a browser run nothing but what came with them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.app import Penstock
from penstock.server.jobs.shapes import encode
from penstock.server.web.static import StaticFile, files_below
from penstock.storage.links import address
from penstock.web_page import WebPage


def page_routes(app: Penstock) -> APIRouter:
    """Each page of the application at its path, its files below, and a list of them for whoever makes a menu."""
    router, policy = APIRouter(), _Policy(app)
    for page in app.pages:
        for name, content in files_below(page.folder):
            is_page = name == "index.html"
            path = page.path if is_page else f"{page.path}/{name}"
            file = StaticFile(name, content, policy.headers if is_page else None)
            router.routes.append(Route(path, file.send, methods=["GET"], name=path))
    router.routes.append(Route("/api/pages", _list(app.pages), methods=["GET"], name="list_pages"))
    return router


def _list(pages: Sequence[WebPage]) -> Callable[[Request], Awaitable[Response]]:
    told = [{"path": page.path, "title": page.title, "about": page.about} for page in pages]
    body = encode({"pages": told})

    async def list_pages(_: Request) -> Response:
        return Response(body, headers={"Cache-Control": "no-cache"}, media_type="application/json")

    return list_pages


class _Policy:
    """Scripts and styles from here alone, none inside the page; pictures, sound and requests from here, and from where
    artifacts are."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._store: str | None = None

    async def headers(self) -> Mapping[str, str]:
        if self._store is None:
            # a store of its own has signed links to itself, and signing asks nobody
            self._store = _origin(await self._app.artifacts.store.asign("a/file", 60) or "")
        here = " ".join(sorted({"'self'", _origin(address.get() or ""), self._store} - {""}))
        policy = {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "font-src": "'self'",
            "img-src": f"{here} blob:",
            "media-src": f"{here} blob:",
            "connect-src": here,
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        return {
            "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "Referrer-Policy": "no-referrer",
        }


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
