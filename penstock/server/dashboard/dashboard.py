"""The dashboard of one server: its routes, and what they share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route

from penstock.server.dashboard import access, assets, events
from penstock.server.dashboard.address import redirect, safe_path
from penstock.server.dashboard.answers import SharedAnswers
from penstock.server.dashboard.files import preview
from penstock.server.dashboard.headers import HEADERS
from penstock.server.dashboard.live import Live
from penstock.server.dashboard.page import Action, Look, Page, checked_text
from penstock.server.dashboard.pages import SECTIONS
from penstock.server.dashboard.reader import AFTER_CHANGE, Reader, replica_of
from penstock.server.dashboard.render import FORM_TOKEN, render
from penstock.server.dashboard.session import Session, Sessions
from penstock.server.dashboard.sign_in import SignIn
from penstock.server.dependencies import Services
from penstock.server.http.errors import problem_of
from penstock.server.http.problems import Problem

Endpoint = Callable[[Request], Awaitable[Response]]

_PAGES = [page for section in SECTIONS for page in section.pages]
_ACTIONS = [action for section in SECTIONS for action in section.actions]
_ON_RECORD = 1000
"""Pages that are remembered as written down; one that is forgotten is written down again."""
NAVIGATION = [page for page in _PAGES if page.icon is not None]


class Dashboard:
    def __init__(self, services: Services) -> None:
        self.services = services
        self.sessions = Sessions(services.settings)
        self.sign_in = SignIn(services, self.sessions)
        database = services.app.database
        self.reader = Reader(database, replica_of(services.settings, database.schema))
        self.answers = SharedAnswers(self.reader)
        self.live = Live(self._look_of, self.answers)
        self._on_record: dict[tuple[str, tuple[str, ...], str], None] = {}
        self._pages = [(Route(page.path, self._shows(page), methods=["GET"]), page) for page in _PAGES]

    def routes(self) -> list[Route]:
        return [
            Route("/login", self.sign_in.show, methods=["GET"]),
            Route("/login", self.sign_in.submit, methods=["POST"]),
            Route("/logout", self.sign_in.leave, methods=["POST"]),
            Route(assets.PATH, assets.send, methods=["GET"]),
            Route(events.PATH, self._events, methods=["GET"], name=events.PATH),
            Route("/dashboard/artifacts/{id}", self._preview, methods=["GET"]),
            *(route for route, _ in self._pages),
            *(Route(action.path, self._does(action), methods=["POST"]) for action in _ACTIONS),
        ]

    def leave(self) -> None:
        """Lets every stream end."""
        self.live.leave()

    async def aclose(self) -> None:
        await self.live.aclose()
        await self.reader.aclose()

    # Pages.

    def _shows(self, page: Page) -> Endpoint:
        async def show(request: Request) -> Response:
            session = access.session_of(request, self.sessions)
            if session is None:
                return access.to_sign_in(request)
            self._see_changes(request)
            look = Look(self.services, session, request.path_params, request.query_params, self.answers)
            said = self.sessions.unwrap(request.cookies.get(access.cookie(access.SAID)))
            try:
                await self._record(page, look, request.url.query)
                context = await page.load(look)
                if isinstance(context.get("go_to"), str):
                    return redirect(safe_path(str(context["go_to"])))
                text = render(page.template, {**self._around(page, look), "said": said, **context})
            except Exception as error:
                return self._problem(problem_of(error), page, session)
            response = self._html(text, session)
            if said is not None:
                access.take_cookie(response, access.SAID)
            return response

        return show

    def _see_changes(self, request: Request) -> None:
        """Of whoever asks, also those that another server has made: they would vanish again while a replica is late."""
        if access.cookie(access.CHANGED) in request.cookies:
            self.reader.after_change()

    async def _record(self, page: Page, look: Look, query: str) -> None:
        """What was shown is on record, and its stream adds no line, however often a browser opens it again."""
        if page.record is None:
            return
        key = (look.session.nonce, tuple(look.path.values()), query)
        if look.live and key in self._on_record:
            return
        if await page.record(look):
            self._on_record[key] = None
            while len(self._on_record) > _ON_RECORD:
                del self._on_record[next(iter(self._on_record))]

    def _around(self, page: Page, look: Look) -> dict[str, Any]:
        """What the shell shows around a page."""
        here = page.under or page.path
        return {
            "page": page,
            "session": look.session,
            "navigation": [(each, each.path == here) for each in NAVIGATION],
            "applications": self.services.app.pages,
            "said": None,
        }

    def _html(self, text: str, session: Session, status: int = 200) -> Response:
        return HTMLResponse(text.replace(FORM_TOKEN, self.sessions.form_token(session)), status, HEADERS)

    def _problem(self, problem: Problem, page: Page, session: Session, back: str | None = None) -> Response:
        """With a way back: to where a form was sent from, or to the page's place in the navigation."""
        look = Look(self.services, session, {}, QueryParams(), self.answers)
        above = page.under or page.path
        way = (back, "Back") if back else next((each.path, each.title) for each in NAVIGATION if each.path == above)
        context = {**self._around(page, look), "problem": problem, "back": way}
        response = self._html(render("problem.html", context), session, problem.status)
        response.headers.update(problem.headers)
        return response

    async def _preview(self, request: Request) -> Response:
        session = access.session_of(request, self.sessions)
        if session is None:
            return access.to_sign_in(request)
        try:
            return await preview(self.services, request, operates=session.operates)
        except Exception as error:
            return problem_of(error).response()

    # Actions.

    def _does(self, action: Action) -> Endpoint:
        async def do(request: Request) -> Response:
            session = access.session_of(request, self.sessions)
            if session is None:
                return access.to_sign_in(request)
            try:
                access.refuse_other_sites(request)
                form = await access.read_form(request)
                if not self.sessions.owns(session, form.pop("token", "")):
                    raise Problem(403, "the form is out of date; open the page again")
                if not session.operates:
                    raise Problem(403, "you may look, but not change anything")
                for name, value in form.items():
                    checked_text(name, value)
                look = Look(self.services, session, request.path_params, request.query_params, self.answers)
                done = await action.act(look, form)
            except Exception as error:
                page, back = self._asked_on(request)
                return self._problem(problem_of(error), page, session, back)
            response = redirect(safe_path(done.to))
            access.give_cookie(response, access.SAID, self.sessions.wrap(done.said), 30)
            if self.reader.replica is not None:
                self.reader.after_change()
                access.give_cookie(response, access.CHANGED, "1", round(AFTER_CHANGE))
            return response

        return do

    def _asked_on(self, request: Request) -> tuple[Page, str]:
        """The page that a form stands on: the one that the browser names, or that of the path above the action's."""
        own = request.url.path.removeprefix(request.scope.get("root_path", ""))
        for path in (access.sent_from(request), own.rpartition("/")[0]):
            found = self._page_at(path.partition("?")[0]) if path else None
            if path and found is not None:
                return found[0], safe_path(path)
        return NAVIGATION[0], NAVIGATION[0].path

    # What is open.

    async def _events(self, request: Request) -> Response:
        session = access.session_of(request, self.sessions)
        if session is None:
            return Problem(401, "sign in").response()
        path, _, query = request.query_params.get("page", "/").partition("?")
        found = self._page_at(path)
        if found is None:
            return Problem(404, "there is no such page").response()
        page, parameters = found
        self._see_changes(request)
        look = Look(self.services, session, parameters, QueryParams(query), self.answers, live=True)
        try:
            await self._record(page, look, query)
        except Exception as error:
            return problem_of(error).response()
        return events.stream(self.live, session, self.sessions.form_token(session), path, query)

    def _look_of(self, path: str, query: str, session: Session) -> tuple[Page, Look, Mapping[str, Any]] | None:
        """A page that is open somewhere, looked at again."""
        found = self._page_at(path)
        if found is None:
            return None
        page, parameters = found
        look = Look(self.services, session, parameters, QueryParams(query), self.answers, live=True)
        return page, look, self._around(page, look)

    def _page_at(self, path: str) -> tuple[Page, Mapping[str, str]] | None:
        scope = {"type": "http", "method": "GET", "path": unquote(path), "root_path": "", "path_params": {}}
        for route, page in self._pages:
            match, found = route.matches(scope)
            if match is Match.FULL:
                return page, found["path_params"]
        return None
