"""Who asks for a page, and whether a form was sent from one of ours."""

from urllib.parse import SplitResult, parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from penstock.server.dashboard.address import base, redirect, url
from penstock.server.dashboard.headers import HEADERS
from penstock.server.dashboard.page import Form
from penstock.server.dashboard.render import render
from penstock.server.dashboard.session import Session, Sessions
from penstock.server.http.body import read_at_most
from penstock.server.http.problems import Problem
from penstock.storage.links import address

SESSION = "penstock_session"
SAID = "penstock_said"
"""What came of an action, for the page that follows."""
CHANGED = "penstock_changed"
"""Whoever has it has changed something a moment ago, which a replica may not have yet."""
_MAX_FIELDS = 200


def give_cookie(response: Response, name: str, value: str, seconds: int) -> None:
    """For this server's pages alone: no script reads it, no other site has it sent."""
    response.set_cookie(
        cookie(name), value, max_age=seconds, path=base() or "/", secure=_is_secure(), httponly=True, samesite="strict"
    )


def cookie(name: str) -> str:
    """As a browser keeps it. What begins with __Host- no neighbour in the same domain can set."""
    return f"__Host-{name}" if _is_secure() and not base() else name


def _is_secure() -> bool:
    return (address.get() or "").startswith("https://")


def take_cookie(response: Response, name: str) -> None:
    give_cookie(response, name, "", 0)


def session_of(request: Request, sessions: Sessions) -> Session | None:
    return sessions.read(request.cookies.get(cookie(SESSION)))


def to_sign_in(request: Request) -> Response:
    """Whatever was asked for: a stranger learns only where to sign in."""
    wanted = request.url.path.removeprefix(request.scope.get("root_path", "")) or "/"
    if request.url.query:
        wanted = f"{wanted}?{request.url.query}"
    if request.method == "GET" and request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # Whoever follows a link from elsewhere does not bring the cookie, signed in or not; from here on they do.
        again = url(wanted)
        return HTMLResponse(render("opening.html", {"again": again}), headers=HEADERS)
    followed = {"next": wanted} if request.method == "GET" and wanted != "/" else {}
    return redirect("/login", **followed)


def refuse_other_sites(request: Request) -> None:
    """A form that another site has sent, in a browser that says so; all that people use do."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site == "same-origin"
    else:
        ours = origin is None or _split(origin).netloc == _split(address.get() or "").netloc
    if not ours:
        raise Problem(403, "this form was sent from another site; open the page here and send it again")


def _split(url: str) -> SplitResult:
    """Of a stranger's words too: what is no address is the empty one."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def sent_from(request: Request) -> str | None:
    """The page of ours that a browser says it was on, with its query. Our pages' policy has it tell nobody else."""
    referrer, here = _split(request.headers.get("referer", "")), _split(address.get() or "")
    if referrer.netloc != here.netloc or not referrer.path.startswith(base() + "/"):
        return None
    path = referrer.path.removeprefix(base())
    return f"{path}?{referrer.query}" if referrer.query else path


async def read_form(request: Request, most: int | None = None) -> Form:
    """As browsers send it: names and values. Several values of one name are joined by commas."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "send a form: application/x-www-form-urlencoded")
    form = Form()
    try:
        body = await (request.body() if most is None else read_at_most(request, most))
        sent = parse_qsl(body.decode("ascii"), True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        raise Problem(400, "the form cannot be read") from None
    for name, value in sent:
        form[name] = f"{form[name]},{value}" if name in form else value
    return form
