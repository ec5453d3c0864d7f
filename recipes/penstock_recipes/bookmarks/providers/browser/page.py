"""One page in a browser: where it goes, when it is there, what it looks like."""

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.outbound import GuardingProxy, NoAddress, Refused
from penstock_recipes.bookmarks.download import refuse_failed
from penstock_recipes.bookmarks.failures import NotThere, PageFailed, UnknownHost
from penstock_recipes.bookmarks.providers.browser.devtools import DevTools, Json, Members, members, text
from penstock_recipes.bookmarks.providers.browser.facts import ASK, Facts, facts_from

MAX_DOCUMENTS = 20
QUIET = 2.0
"""Seconds that a page which has loaded may still fetch things."""

_TOO_LARGE = "The page is too large"
_FORBIDDEN = ("ERR_UNSAFE_REDIRECT", "ERR_DISALLOWED_URL_SCHEME", "ERR_UNKNOWN_URL_SCHEME")
_FOR_EVER = "The page redirects for ever"
_ERRORS = {
    "ERR_TIMED_OUT": "Network timeout",
    "ERR_CONNECTION_TIMED_OUT": "Network timeout",
    "ERR_EMPTY_RESPONSE": "The server's answer is empty",
}
_LASTING = {
    "ERR_TOO_MANY_REDIRECTS": _FOR_EVER,
    "ERR_UNSAFE_PORT": "Browsers do not open pages on this port",
}


@dataclass(slots=True)
class _Document:
    """The latest document that the page itself, not a frame in it, has asked for."""

    url: str = ""
    status: int = 0
    content_type: str = ""
    count: int = 0
    under_way: bool = False
    unreachable: bool = False


class Page:
    """A page with no rights, in a profile that is never written to disk."""

    def __init__(self, tools: DevTools, proxy: GuardingProxy, size: tuple[int, int]) -> None:
        self._tools = tools
        self._proxy = proxy
        self._size = size
        self._session = ""
        self._frame = ""
        self._target = ""
        self._document = _Document()
        self._loaded_at: float | None = None
        self._quiet = False
        self._complete = False
        self._asked: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def has_answered(self) -> bool:
        """Whether anything of a page has come at all."""
        return bool(self._document.status)

    async def open(self) -> None:
        tools, (width, height) = self._tools, self._size
        context = text(await tools.call("Target.createBrowserContext"), "browserContextId")
        await tools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
        made = await tools.call(
            "Target.createTarget", url="about:blank", browserContextId=context, width=width, height=height
        )
        self._target = text(made, "targetId")
        attached = await tools.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = text(attached, "sessionId")
        listening: dict[str, Callable[[Members], None]] = {
            "Fetch.authRequired": self._tell_password,
            "Fetch.requestPaused": self._let_pass,
            "Page.javascriptDialogOpening": self._dismiss,
            "Page.frameNavigated": self._has_moved,
            "Page.frameStoppedLoading": self._has_stopped,
            "Page.lifecycleEvent": self._lives,
            "Inspector.targetCrashed": self._crashed,
            "Target.targetCrashed": self._crashed,
            "Target.targetCreated": self._close_others,
        }
        for event, listener in listening.items():
            tools.on(event, listener)
        self._proxy.on_exhausted = self._too_large
        await tools.call("Target.setDiscoverTargets", discover=True)
        await self._call("Page.enable")
        tree = members(await self._call("Page.getFrameTree"), "frameTree")
        self._frame = text(members(tree, "frame"), "id")
        await self._call("Page.setLifecycleEventsEnabled", enabled=True)
        # Only documents are stopped on their way: the proxy's password, once told, is kept for all that follows.
        stages: list[Json] = [
            {"urlPattern": "*", "resourceType": "Document", "requestStage": each} for each in ("Request", "Response")
        ]
        await self._call("Fetch.enable", patterns=stages, handleAuthRequests=True)
        await self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def go(self, url: str) -> None:
        """There, or PageFailed or Refused."""
        answer = await self._call("Page.navigate", url=url)
        if answer.get("isDownload"):
            self._fail_for_download()
        if error := text(answer, "errorText"):
            self._fail(error)
        self._check()

    async def settle(self, until: float) -> None:
        """Waits for all of it, or for that moment; then what is there will do."""
        while (left := self._left(until)) > 0:
            self._check()
            self._changed.clear()
            await self._tools.until(self._changed, left)
        self._check()
        # a style sheet that never comes would keep the page from being painted
        await self._call("Page.stopLoading")

    async def picture(self) -> bytes:
        """As PNG."""
        shot = await self._call("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        self._check()
        return base64.b64decode(text(shot, "data"))

    async def facts(self) -> tuple[str, Facts]:
        """Where it is, and what it says about itself."""
        frame = members(members(await self._call("Page.getFrameTree"), "frameTree"), "frame")
        self._check()
        world = await self._call("Page.createIsolatedWorld", frameId=self._frame)
        answer = await self._call(
            "Runtime.evaluate", expression=ASK, contextId=world["executionContextId"], returnByValue=True
        )
        return text(frame, "url"), facts_from(members(answer, "result").get("value"))

    async def _call(self, method: str, **params: Json) -> Members:
        return await self._tools.call(method, self._session, **params)

    def _send(self, method: str, **params: Json) -> None:
        self._tools.send(method, self._session, **params)

    def _left(self, until: float) -> float:
        now = time.monotonic()
        if self._loaded_at is None or self._document.under_way:
            return until - now
        return 0 if self._quiet else min(until, self._loaded_at + QUIET) - now

    def _check(self) -> None:
        """Raises what is wrong with the document that the page has come to."""
        if self._document.status >= 400 or self._document.unreachable:
            self._fail("")

    def _fail(self, error: str) -> None:
        """For the reason that the proxy knows, or else by the browser's word for it."""
        host = _host_of(self._document.url)
        refused = self._proxy.refused.get(host)
        if isinstance(refused, NoAddress):
            raise UnknownHost.of(refused)
        if refused is not None:
            raise refused
        if host in self._proxy.failed:
            raise PageFailed(self._proxy.failed[host])
        if self._proxy.exhausted:
            raise NotThere(_TOO_LARGE)
        refuse_failed(self._document.status)
        if self._document.status in (204, 205):
            raise NotThere(f"HTTP {self._document.status}")
        if "ERR_ABORTED" in error and self._document.content_type:
            self._fail_for_download()
        name = error.removeprefix("net::")
        if name in _FORBIDDEN:
            raise Refused("the page leads to an address that is none of the web's")
        if name.startswith("ERR_CERT") or "SSL" in name:
            raise PageFailed(f"The site's certificate is not good ({name})")
        if name in _LASTING:
            raise NotThere(_LASTING[name])
        raise PageFailed(_ERRORS.get(name, f"The page could not be loaded ({name or 'no reason given'})"))

    def _fail_for_download(self) -> None:
        raise NotThere(f"The address is a download ({self._document.content_type or 'of unknown type'}), not a page")

    def _tell_password(self, event: Members) -> None:
        request = text(event, "requestId")
        answer: dict[str, Json] = {"response": "CancelAuth"}
        # a site that asks is told nothing, and the proxy only once for each request
        if text(members(event, "authChallenge"), "source") == "Proxy" and request not in self._asked:
            self._asked.add(request)
            answer = {
                "response": "ProvideCredentials",
                "username": self._proxy.username,
                "password": self._proxy.password,
            }
        self._send("Fetch.continueWithAuth", requestId=request, authChallengeResponse=answer)

    def _let_pass(self, event: Members) -> None:
        self._send("Fetch.continueRequest", requestId=text(event, "requestId"))
        if text(event, "frameId") != self._frame:
            return
        document = self._document
        status = event.get("responseStatusCode")
        if isinstance(status, int):
            document.status = status
            document.content_type = _header(event, "content-type").partition(";")[0].strip()[:100]
            length = _header(event, "content-length")
            if length.isascii() and length.isdigit() and int(length[:20]) > self._proxy.max_bytes:
                self._too_large()
        elif "responseErrorReason" not in event:
            document.url = text(members(event, "request"), "url")
            document.status, document.content_type, document.under_way = 0, "", True
            document.count += 1
            if document.count > MAX_DOCUMENTS:
                self._tools.end(NotThere(_FOR_EVER))
        self._changed.set()

    def _dismiss(self, _: Members) -> None:
        self._send("Page.handleJavaScriptDialog", accept=False)

    def _has_moved(self, event: Members) -> None:
        frame = members(event, "frame")
        if text(frame, "id") == self._frame:
            self._document.under_way, self._document.unreachable = False, bool(frame.get("unreachableUrl"))
            self._loaded_at, self._complete, self._quiet = None, False, False
            self._changed.set()

    def _has_stopped(self, event: Members) -> None:
        if text(event, "frameId") == self._frame:
            self._document.under_way = False
            self._changed.set()

    def _lives(self, event: Members) -> None:
        if text(event, "frameId") != self._frame:
            return
        match event.get("name"):
            case "DOMContentLoaded":
                self._complete = True
            case "load":
                self._loaded_at = time.monotonic()
            case "networkIdle":
                self._quiet = True
        self._changed.set()

    def _too_large(self) -> None:
        """A page without its last pictures is still a page; half a document is none."""
        if self._document.under_way or not self._complete:
            self._tools.end(NotThere(_TOO_LARGE))

    def _crashed(self, event: Members) -> None:
        if text(event, "targetId") in ("", self._target):
            self._tools.end(PageFailed("The page crashed the browser"))

    def _close_others(self, event: Members) -> None:
        info = members(event, "targetInfo")
        if text(info, "type") == "page" and text(info, "targetId") != self._target:
            self._tools.send("Target.closeTarget", targetId=text(info, "targetId"))


def _header(event: Members, name: str) -> str:
    headers = event.get("responseHeaders")
    for each in headers if isinstance(headers, list) else []:
        if isinstance(each, dict) and text(each, "name").lower() == name:
            return text(each, "value")
    return ""


def _host_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
