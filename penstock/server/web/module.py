"""GET /penstock.js: the API for whoever writes a page. It comes with the server whose API it speaks."""

from importlib.resources import files

from fastapi import APIRouter
from starlette.routing import Route

from penstock.server.web.static import StaticFile, files_below

router = APIRouter()
for _name, _content in files_below(files("penstock.server.web") / "static"):
    router.routes.append(Route(f"/{_name}", StaticFile(_name, _content).send, methods=["GET"], name=_name))
