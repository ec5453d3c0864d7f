"""Who gets in, as what, for how long; and who does not."""

import base64
import time
from collections.abc import Callable

import httpx
import msgspec
import pytest

from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from penstock.server.dashboard.address import safe_path
from penstock.server.dashboard.session import Sessions
from penstock.server.dashboard.throttle import FAILURES, PERIOD, Throttle
from tests.kit.serving import KEY, SECRET
from tests.server.dashboard.browsing import COOKIE, SAME, Browser, token_of

SETTINGS = ServerSettings(service_key=KEY, jwt_secret=SECRET)


async def test_a_stranger_gets_the_login_page_and_nothing_else(stranger: Browser, web: Server) -> None:
    assert web.dashboard is not None
    unknown = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
    for route in web.dashboard.routes():
        if route.path.startswith(("/login", "/logout", "/dashboard/static")):
            continue
        path = route.path.replace("{id}", unknown).replace("{name:path}", "x")
        for method in route.methods or ():
            answer = await stranger.client.request(method, path, data={} if method == "POST" else None, headers=SAME)
            assert answer.status_code in (303, 401), f"{method} {path}"
            assert answer.status_code == 401 or "/login" in answer.headers["location"]
            assert len(answer.content) < 200
    login = await stranger.get("/login")
    assert login.status_code == 200
    assert "Service key" in login.text
    for word in ("queue", "job", "worker", "version"):
        assert word not in login.text.lower().replace("penstock", "")


async def test_the_session_is_a_cookie_that_no_script_reads_and_no_other_site_sends(stranger: Browser) -> None:
    answer = await stranger.send("/login", credential=KEY, next="/jobs?state=failed")
    assert answer.headers["location"] == "http://test/jobs?state=failed"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie
    assert KEY not in cookie
    assert answer.headers["cache-control"] == "private, no-store"


async def test_over_https_the_cookie_is_for_https_alone(web: Server) -> None:
    transport = httpx.ASGITransport(web.asgi)
    async with httpx.AsyncClient(transport=transport, base_url="https://test") as client:
        answer = await client.post("/login", data={"credential": KEY}, headers=SAME)
        assert "; Secure" in answer.headers["set-cookie"]
        assert answer.headers["set-cookie"].startswith("__Host-penstock_session="), "no neighbour can set it"
        assert (await client.get("/")).status_code == 200
        plain = {"Cookie": f"penstock_session={client.cookies['__Host-penstock_session']}"}
        client.cookies.clear()
        assert (await client.get("/", headers=plain)).status_code == 303


async def test_the_log_says_who_came_in_and_who_did_not_and_no_secret(
    stranger: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "penstock.server")
    from_here = {**SAME, "X-Forwarded-For": "203.0.113.9\x1b[2J"}
    await stranger.send("/login", from_here, credential="not-the-key-but-close")
    await stranger.sign_in(token := token_of("ada\nroot", "viewer"))
    said = caplog.text
    assert "somebody at 203.0.113.9" in said
    assert "signed in to the dashboard as viewer" in said
    assert "\x1b" not in said
    assert "ada\nroot" not in said
    assert "not-the-key" not in said
    assert token not in said


@pytest.mark.parametrize(
    ("role", "shown"), [("operator", "operator"), ("viewer", "viewer")],
)  # fmt: skip
async def test_a_token_signs_in_with_the_role_that_its_issuer_gives(stranger: Browser, role: str, shown: str) -> None:
    await stranger.sign_in(token_of("ada", role, email="ada@example.com"))
    page = (await stranger.get("/")).text
    assert "ada@example.com (ada)" in page
    assert f"<b>{shown}</b>" in page


@pytest.mark.parametrize(
    "credential",
    [
        "", "x", KEY + "x", KEY[:-1], "ключ", "a.b.c",
        pytest.param(mint(SECRET, subject="ada"), id="no role"),
        pytest.param(token_of("ada", "admin"), id="another role"),
        pytest.param(token_of("ada", ["operator"]), id="a list"),
        pytest.param(token_of("ada", None, user_metadata={"penstock_role": "operator"}), id="what users write"),
        pytest.param(token_of("ada", None, penstock_role="operator"), id="elsewhere"),
        pytest.param(token_of("ada", "operator", exp=int(time.time()) - 60), id="expired"),
        pytest.param(token_of("ada", "operator", aud="another"), id="for others"),
        pytest.param(mint("another-secret-of-thirty-two-bytes", subject="ada"), id="of another"),
    ],
)  # fmt: skip
async def test_what_does_not_verify_or_has_no_role_does_not_get_in(stranger: Browser, credential: str) -> None:
    answer = await stranger.send("/login", credential=credential)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert credential not in answer.text or not credential or credential == "x"


async def test_a_session_ends_with_the_token_it_was_opened_with(web: Server) -> None:
    now = time.time()
    sessions = Sessions(SETTINGS, clock=lambda: now)
    session = sessions.open("ada", "viewer", until=now + 60)
    text = sessions.seal(session)
    assert sessions.read(text) == session
    now += 61
    assert sessions.read(text) is None
    own = sessions.open("ada", "viewer")
    assert own.expires == int(now + SETTINGS.dashboard_seconds)


def _flip(text: str) -> str:
    return text[:-1] + ("0" if text[-1] != "0" else "1")


def _promote(text: str) -> str:
    body, _, signature = text.partition(".")
    told = msgspec.json.decode(base64.urlsafe_b64decode(body + "=="))
    forged = base64.urlsafe_b64encode(msgspec.json.encode(told | {"role": "operator"})).decode().rstrip("=")
    return f"{forged}.{signature}"


@pytest.mark.parametrize(
    "change",
    [_flip, _promote, str.upper, lambda _: "", lambda text: text.partition(".")[0], lambda _: "." * 9000],
)
def test_a_changed_cookie_is_worth_nothing(change: Callable[[str], str]) -> None:
    sessions = Sessions(SETTINGS)
    assert sessions.read(change(sessions.seal(sessions.open("vera", "viewer")))) is None


def test_another_key_signs_everybody_out() -> None:
    text = Sessions(SETTINGS).seal(Sessions(SETTINGS).open("ada", "operator"))
    assert Sessions(SETTINGS).read(text) is not None
    for changed in ({"service_key": "another-key-of-the-tests"}, {"jwt_secret": None}, {"signing_secret": "s" * 20}):
        given = {"service_key": KEY, "jwt_secret": SECRET} | changed
        assert Sessions(ServerSettings(**given)).read(text) is None
    assert (
        Sessions(ServerSettings()).read(Sessions(ServerSettings()).seal(Sessions(ServerSettings()).open("a", "viewer")))
        is None
    )


def test_a_message_is_no_session_and_a_session_no_message() -> None:
    sessions = Sessions(SETTINGS)
    session = sessions.open("ada", "operator")
    assert sessions.read(sessions.wrap("x")) is None
    assert sessions.unwrap(sessions.seal(session)) is None
    assert sessions.unwrap(sessions.wrap("done – über")) == "done – über"
    assert not sessions.owns(session, sessions.form_token(sessions.open("ada", "operator")))


async def test_who_signs_out_is_out(operator: Browser) -> None:
    refused = await operator.send("/logout", token="x")
    assert refused.status_code == 403
    answer = await operator.do("/logout")
    assert answer.headers["location"].endswith("/login")
    assert COOKIE not in operator.client.cookies
    assert (await operator.get("/")).status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://["}, {"Origin": "http://test.evil.example"},
    ],
)  # fmt: skip
async def test_a_form_from_another_site_is_refused(operator: Browser, headers: dict[str, str]) -> None:
    token = await operator.form_token()
    assert (await operator.send("/logout", headers, token=token)).status_code == 403
    assert (await operator.send("/login", headers, credential=KEY)).status_code == 403
    assert (await operator.get("/")).status_code == 200


async def test_whoever_keeps_failing_has_to_wait(stranger: Browser) -> None:
    for _ in range(FAILURES):
        assert (await stranger.send("/login", credential="wrong")).status_code == 401
    answer = await stranger.send("/login", credential=KEY)
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= PERIOD
    elsewhere = await stranger.send("/login", {**SAME, "X-Forwarded-For": "203.0.113.9"}, credential=KEY)
    assert elsewhere.status_code == 303, "it came by a trusted proxy, from another address"


def test_after_a_while_one_may_try_again() -> None:
    now = 0.0
    throttle = Throttle(clock=lambda: now)
    for _ in range(FAILURES):
        assert throttle.seconds_to_wait("a") == 0
        throttle.note_failure("a")
        now += 1
    assert throttle.seconds_to_wait("a") == PERIOD - FAILURES
    assert throttle.seconds_to_wait("b") == 0
    now += PERIOD
    assert throttle.seconds_to_wait("a") == 0


@pytest.mark.parametrize(
    "given",
    ["//evil.example", "/\\evil.example", "https://evil.example", "\\\\evil", "javascript:alert(1)", "/a\nb", "", None,
     "x", "/" * 3000],
)  # fmt: skip
def test_after_signing_in_one_stays_here(given: str | None) -> None:
    assert safe_path(given) == "/"
    assert safe_path("/jobs/1?state=failed") == "/jobs/1?state=failed"


async def test_a_link_from_elsewhere_opens_the_page_for_who_has_signed_in(stranger: Browser) -> None:
    """Their browser does not send the cookie at first; asked again by our own page, it does."""
    answer = await stranger.get("/?a=b", {"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/?a=b">' in answer.text
    assert (await stranger.get("/?a=b", SAME)).headers["location"] == "http://test/login?next=%2F%3Fa%3Db"


async def test_a_link_of_the_terminal_works_once(stranger: Browser, web: Server) -> None:
    assert web.dashboard is not None
    link = web.dashboard.sign_in.once()
    assert (await stranger.client.head(link)).status_code in (200, 405), "what looks ahead does not use it up"
    assert (await stranger.get(f"{link}x")).status_code == 200
    assert (await stranger.get(link)).status_code == 303
    assert (await stranger.get("/")).status_code == 200
    stranger.client.cookies.clear()
    assert (await stranger.get(link)).status_code == 200
    assert (await stranger.get("/")).status_code == 303


async def test_without_a_dashboard_there_is_none(app: object) -> None:
    from penstock import Penstock

    assert isinstance(app, Penstock)
    server = Server(app, ServerSettings(service_key=KEY, dashboard=False))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(server.asgi), base_url="http://test") as client:
        for path in ("/", "/login", "/dashboard/events"):
            assert (await client.get(path)).status_code == 404
    await server.aclose()


def test_a_server_without_a_secret_says_at_its_start_that_sessions_are_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for given in (ServerSettings(), SETTINGS, ServerSettings(jwks_url="https://x.org/jwks", signing_secret="s" * 32)):
        Sessions(given)
    assert caplog.messages == []
    Sessions(ServerSettings(jwks_url="https://x.org/jwks"))
    assert "set PENSTOCK_SIGNING_SECRET" in caplog.text
