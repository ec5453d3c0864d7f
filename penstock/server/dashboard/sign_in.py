"""GET and POST /login, POST /logout."""

import hmac
import logging
import secrets
import time
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from penstock.logs import shown
from penstock.server.auth.identity import Identity
from penstock.server.auth.jwt import InvalidToken
from penstock.server.dashboard import access
from penstock.server.dashboard.address import redirect, safe_path
from penstock.server.dashboard.headers import HEADERS
from penstock.server.dashboard.render import render
from penstock.server.dashboard.session import Role, Session, Sessions
from penstock.server.dashboard.throttle import Throttle
from penstock.server.dependencies import Services
from penstock.server.http.address import client_of
from penstock.server.http.body import OF_STRANGERS
from penstock.server.http.problems import Problem

log = logging.getLogger("penstock.server")

ONCE_SECONDS = 900.0


class SignIn:
    def __init__(self, services: Services, sessions: Sessions) -> None:
        self._services = services
        self._sessions = sessions
        self._throttle = Throttle()
        self._once: tuple[str, float] | None = None

    def once(self) -> str:
        """A path that signs in whoever opens it first, within a quarter of an hour: for the terminal of whoever has
        just started this server."""
        token = secrets.token_urlsafe(24)
        self._once = token, time.monotonic() + ONCE_SECONDS
        return f"/login?once={token}"

    async def show(self, request: Request) -> Response:
        following = safe_path(request.query_params.get("next"))
        once = request.query_params.get("once")
        if once is not None and request.method == "GET" and self._take(once):
            return self._enter(self._sessions.open("the terminal", "operator"), "/")
        if access.session_of(request, self._sessions) is not None:
            return redirect(following)
        return self._page(following)

    async def submit(self, request: Request) -> Response:
        try:
            access.refuse_other_sites(request)
            form = await access.read_form(request, OF_STRANGERS)
        except Problem as problem:
            return self._page("/", problem.detail, problem.status, problem.headers)
        following = safe_path(form.get("next"))
        who = client_of(request.scope, self._services.settings)
        wait = self._throttle.seconds_to_wait(who)
        if wait > 0:
            told = f"Too many attempts. Try again in {max(1, round(wait))} seconds."
            return self._page(following, told, 429, {"Retry-After": str(max(1, round(wait)))})
        try:
            session = await self._session_for(form.get("credential", "").strip())
        except InvalidToken as error:
            self._throttle.note_failure(who)
            log.warning("somebody at %s could not sign in to the dashboard: %s", shown(who), error)
            return self._page(following, f"That did not work: {error}.", 401)
        log.info("%s signed in to the dashboard as %s, from %s", shown(session.name), session.role, shown(who))
        return self._enter(session, following)

    async def leave(self, request: Request) -> Response:
        session = access.session_of(request, self._sessions)
        if session is not None:
            try:
                access.refuse_other_sites(request)
                form = await access.read_form(request)
            except Problem as problem:
                return problem.response()
            if not self._sessions.owns(session, form.get("token", "")):
                return Problem(403, "the form is out of date").response()
        response = redirect("/login")
        access.take_cookie(response, access.SESSION)
        return response

    async def _session_for(self, credential: str) -> Session:
        if not credential:
            raise InvalidToken("nothing was entered")
        if "." not in credential and self._services.settings.service_key is None:
            raise InvalidToken("this server has no service key")
        try:
            identity, claims = await self._services.authenticator.sign_in(credential)
        except InvalidToken:
            if "." in credential:
                raise
            # what is no token was meant as a key
            raise InvalidToken("the key is not the service key of this server") from None
        role = _role(identity, claims, self._services.settings.dashboard_role_claim)
        expires = claims.get("exp")
        until = float(expires) if isinstance(expires, int | float) else None
        return self._sessions.open(_name(identity, claims), role, until)

    def _enter(self, session: Session, following: str) -> Response:
        response = redirect(following)
        seconds = max(0, session.expires - int(time.time()))
        access.give_cookie(response, access.SESSION, self._sessions.seal(session), seconds)
        return response

    def _take(self, token: str) -> bool:
        known = self._once
        if known is None or not hmac.compare_digest(known[0].encode(), token.encode("utf-8", "replace")):
            return False
        self._once = None
        return time.monotonic() < known[1]

    def _page(
        self, following: str, problem: str | None = None, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        settings = self._services.settings
        takes_tokens = bool(settings.jwt_secret or settings.jwks_url)
        context = {"following": following, "problem": problem, "takes_tokens": takes_tokens}
        return HTMLResponse(render("login.html", context), status, {**HEADERS, **(headers or {})})


def _role(identity: Identity, claims: Mapping[str, object], path: str) -> Role:
    if identity.is_service:
        return "operator"
    found: object = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found == "operator" or found == "viewer":
        return "operator" if found == "operator" else "viewer"
    raise InvalidToken("the token is valid, but has no role for this dashboard")


def _name(identity: Identity, claims: Mapping[str, object]) -> str:
    subject, email = identity.subject or identity.name, claims.get("email")
    # an address may not be verified; the subject is the issuer's word
    name = f"{email} ({subject})" if isinstance(email, str) and 0 < len(email) <= 255 else subject
    return " ".join(name.split()) or "somebody"
