"""Who is believed to be whom."""

import time
from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest
from joserfc import jws
from joserfc.jwk import OctKey, RSAKey
from joserfc.jws import JWSRegistry
from starlette.datastructures import Headers

from penstock import InvalidInput
from penstock.server.auth import Authenticator, mint
from penstock.server.auth.identity import ANONYMOUS, SERVICE, SERVICE_TOKEN, Identity
from penstock.server.http.problems import Problem
from penstock.server.settings import ServerSettings

SECRET = "a-secret-that-only-the-issuer-and-we-know"
SERVICE_KEY = "service-key-0123456789"
SETTINGS = ServerSettings(jwt_secret=SECRET, service_key=SERVICE_KEY)


def claims(**changed: Any) -> dict[str, Any]:
    """Those of a user of Supabase; None takes one away."""
    now = int(time.time())
    whole = {"sub": "ada", "role": "authenticated", "aud": "authenticated", "iat": now, "exp": now + 3600, **changed}
    return {name: value for name, value in whole.items() if value is not None}


def signed(payload: object, secret: str = SECRET, **header: Any) -> str:
    content = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    registry = JWSRegistry(algorithms=["HS256", "HS384", "HS512"], strict_check_header=False)
    return jws.serialize_compact({"alg": "HS256", **header}, content, OctKey.import_key(secret), registry=registry)


def b64(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


async def identify(token: str, settings: ServerSettings = SETTINGS) -> Identity:
    return await Authenticator(settings).identify(Headers({"Authorization": f"Bearer {token}"}))


async def refusal(token: str, settings: ServerSettings = SETTINGS) -> str:
    """Why it is refused; always with 401 and without a word of what was shown."""
    with pytest.raises(Problem) as refused:
        await identify(token, settings)
    problem = refused.value
    assert problem.status == 401
    assert problem.headers == {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    body = bytes(problem.response().body).decode()
    assert all(part not in body for part in token.split(".") if len(part) > 8)
    assert SECRET not in body
    return problem.detail


async def test_a_user_of_supabase_is_known_by_its_token() -> None:
    user = await identify(signed(claims(email="ada@example.com", user_metadata={"name": "Ada"}, session_id="s")))
    assert (user.role, user.subject, user.orgs, user.is_service) == ("authenticated", "ada", (), False)
    told = msgspec.json.decode(user.claims)
    assert told.keys() == {"sub", "role", "aud", "exp", "email", "app_metadata"}
    assert (told["sub"], told["role"], told["email"]) == ("ada", "authenticated", "ada@example.com")


async def test_nobody_is_anonymous_and_somebody_wrong_is_refused() -> None:
    authenticator = Authenticator(SETTINGS)
    assert await authenticator.identify(Headers({})) is ANONYMOUS
    for headers in (
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
        {"apikey": ""},
    ):
        with pytest.raises(Problem) as refused:
            await authenticator.identify(Headers(headers))
        assert refused.value.status == 401


@pytest.mark.parametrize("headers", [
    {"Authorization": f"Bearer {SERVICE_KEY}"}, {"authorization": f"bearer  {SERVICE_KEY}"}, {"apikey": SERVICE_KEY},
    {"APIKEY": SERVICE_KEY}, {"Authorization": f"Bearer {SERVICE_KEY}", "apikey": "anything"},
])  # fmt: skip
async def test_the_service_key_is_taken_in_either_header(headers: dict[str, str]) -> None:
    assert await Authenticator(SETTINGS).identify(Headers(headers)) is SERVICE


@pytest.mark.parametrize("near", [
    SERVICE_KEY[:-1], SERVICE_KEY + "0", SERVICE_KEY.upper(), SERVICE_KEY + "\x00", SERVICE_KEY[:-1] + "é", "", "null",
    "None", f"{SERVICE_KEY}.{SERVICE_KEY}.{SERVICE_KEY}",
])  # fmt: skip
async def test_what_is_almost_the_service_key_is_not(near: str) -> None:
    for name, value in (("apikey", near), ("authorization", f"Bearer {near}")):
        headers = Headers(raw=[(name.encode(), value.encode())])
        with pytest.raises(Problem):
            await Authenticator(SETTINGS).identify(headers)


async def test_without_a_service_key_none_is_taken() -> None:
    for shown in ("", "None", SERVICE_KEY):
        with pytest.raises(Problem):
            await Authenticator(ServerSettings(jwt_secret=SECRET)).identify(Headers({"apikey": shown}))


async def test_a_service_key_beyond_ascii_is_compared_by_its_bytes() -> None:
    settings = ServerSettings(service_key="ein-schlüssel-für-dienste")
    shown = Headers(raw=[(b"apikey", settings.service_key.encode())])  # type: ignore[union-attr]
    assert await Authenticator(settings).identify(shown) is SERVICE


async def test_of_both_headers_authorization_says_who() -> None:
    authenticator = Authenticator(SETTINGS)
    user = await authenticator.identify(Headers({"Authorization": f"Bearer {signed(claims())}", "apikey": SERVICE_KEY}))
    assert user.subject == "ada"
    with pytest.raises(Problem):
        await authenticator.identify(Headers({"Authorization": "Bearer wrong", "apikey": SERVICE_KEY}))


async def test_a_token_may_come_as_the_apikey() -> None:
    user = await Authenticator(SETTINGS).identify(Headers({"apikey": signed(claims())}))
    assert user.subject == "ada"


async def test_supabases_own_keys_need_no_audience_and_users_do() -> None:
    now = int(time.time())
    own = {"iss": "supabase", "ref": "abc", "iat": now, "exp": now + 10**8}
    assert await identify(signed({**own, "role": "service_role"})) is SERVICE_TOKEN
    assert await identify(signed({**own, "role": "anon"})) is ANONYMOUS
    assert "audience" in await refusal(signed({**own, "role": "authenticated", "sub": "ada"}))
    assert "audience" in await refusal(signed({**own, "role": "service_role", "aud": "other"}))


@pytest.mark.parametrize(("changed", "reason"), [
    ({"exp": int(time.time()) - 60}, "has expired"), ({"exp": None}, "no expiry"),
    ({"exp": "soon"}, "exp is not a time"), ({"exp": True}, "is not a time"), ({"exp": 10**40}, "exp is not a time"),
    ({"nbf": int(time.time()) + 3600}, "not valid yet"), ({"iat": int(time.time()) + 3600}, "not valid yet"),
    ({"iat": []}, "iat is not a time"),
    ({"aud": "other"}, "audience"), ({"aud": ["other"]}, "audience"), ({"aud": {"authenticated": 1}}, "audience"),
    ({"aud": "authenticated2"}, "audience"), ({"aud": None}, "audience"), ({"aud": []}, "audience"),
    ({"role": "postgres"}, "role"), ({"role": None}, "role"), ({"role": ["service_role"]}, "role"),
    ({"role": "SERVICE_ROLE"}, "role"), ({"role": {"a": 1}}, "role"),
    ({"sub": None}, "subject"), ({"sub": ""}, "subject"), ({"sub": 7}, "subject"), ({"sub": "x" * 256}, "subject"),
    ({"sub": "a\x00b"}, "zero character"), ({"app_metadata": {"k": "\x00"}}, "zero character"),
])  # fmt: skip
async def test_a_claim_that_is_wrong_is_named(changed: dict[str, Any], reason: str) -> None:
    assert reason in await refusal(signed(claims(**changed)))


async def test_the_issuer_counts_when_it_is_set() -> None:
    settings = ServerSettings(jwt_secret=SECRET, jwt_issuer="https://abc.supabase.co/auth/v1")
    assert "issuer" in await refusal(signed(claims()), settings)
    assert "issuer" in await refusal(signed(claims(iss="https://evil.example/auth/v1")), settings)
    assert (await identify(signed(claims(iss="https://abc.supabase.co/auth/v1")), settings)).subject == "ada"


async def test_clocks_may_differ_by_a_little() -> None:
    now = time.time()
    assert (await identify(signed(claims(exp=now - 3)))).subject == "ada"
    assert (await identify(signed(claims(iat=now + 5, nbf=now + 5)))).subject == "ada"


async def test_several_audiences_may_have_ours_among_them() -> None:
    assert (await identify(signed(claims(aud=["other", "authenticated"])))).subject == "ada"


async def test_a_forged_or_altered_token_is_refused() -> None:
    header, _, signature = signed(claims()).split(".")
    altered = b64(msgspec.json.encode(claims(role="service_role")))
    assert "signature" in await refusal(f"{header}.{altered}.{signature}")
    assert "signature" in await refusal(signed(claims(), secret="another-secret-that-somebody-made-up-himself"))
    assert "signature" in await refusal(f"{header}.{altered}.{b64(bytes(32))}")


@pytest.mark.parametrize(
    "name", ["none", "None", "NONE", "nOnE", "", "HS1", "HS384", "HS512", "RS256", "ES256", "EdDSA"]
)
async def test_the_token_does_not_choose_its_algorithm(name: str) -> None:
    payload = b64(msgspec.json.encode(claims(role="service_role")))
    header = b64(msgspec.json.encode({"alg": name, "typ": "JWT"}))
    assert "algorithm" in await refusal(f"{header}.{payload}.{b64(b'x' * 32)}")
    assert await refusal(f"{header}.{payload}.") == "the token is not a signed JWT"
    if name in ("HS384", "HS512"):
        assert "algorithm" in await refusal(signed(claims(), alg=name))


@pytest.mark.parametrize("header", [
    {"crit": ["exp"], "exp": 1}, {"crit": []}, {"b64": False, "crit": ["b64"]}, {"b64": False},
])  # fmt: skip
async def test_a_token_that_demands_an_extension_is_refused(header: dict[str, Any]) -> None:
    head = b64(msgspec.json.encode({"alg": "HS256", **header}))
    assert "extension" in await refusal(f"{head}.{b64(msgspec.json.encode(claims()))}.{b64(bytes(32))}")


async def test_what_else_a_header_says_is_ignored() -> None:
    assert (await identify(signed(claims(), cat="cl_B7d4PD111AAA", kid="unheard of"))).subject == "ada"


@pytest.mark.parametrize("token", [
    "x", "a.b", "a.b.c", "...", "a.b.c.d.e", "\x00", "é.é.é", "." * 16_000, f"{b64(b'[]')}.a.b", f"{b64(b'null')}.a.b",
    f"{b64(b'{' * 700)}.a.b", f"{b64(b'[' * 700)}.a.b", f"{b64(bytes([255]) * 9)}.a.b", f"{b64(b'{}')}.a.b",
    "eyJhbGciOiJIUzI1NiJ9.!.!", "x" * 20_000,
], ids=lambda token: repr(token)[:20])  # fmt: skip
async def test_garbage_is_refused_quietly(token: str) -> None:
    await refusal(token)


@pytest.mark.parametrize("payload", [b"", b"null", b"[]", b'"ada"', b"{", b'{"exp":NaN}', b"[" * 5000, b'{"a":' * 2000])
async def test_a_signed_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    await refusal(signed(payload))


async def test_a_token_within_a_token_is_not_unwrapped() -> None:
    inner = signed(claims())
    assert "JSON object" in await refusal(signed(inner.encode(), cty="JWT"))


async def test_an_oversized_token_is_not_even_read() -> None:
    assert "too large" in await refusal(signed(claims(app_metadata={"k": "x" * 16_000})))
    assert (await identify(signed(claims(app_metadata={"k": "x" * 10_000})))).subject == "ada"


async def test_a_public_key_is_no_secret() -> None:
    """The confusion of RS256 with HS256: the verifier's public key, which everybody has, used to sign."""
    pem = RSAKey.generate_key(2048).as_pem(private=False).decode()
    with pytest.raises(InvalidInput, match="jwt_secret: is a PEM key"):
        Authenticator(ServerSettings(jwt_secret=pem))


async def test_weak_secrets_are_refused_when_the_server_starts() -> None:
    with pytest.raises(InvalidInput, match="jwt_secret: must have at least 32 characters"):
        Authenticator(ServerSettings(jwt_secret="short"))
    with pytest.raises(InvalidInput, match="service_key: must have at least 16 characters"):
        Authenticator(ServerSettings(service_key="short"))


async def test_without_settings_no_token_is_taken() -> None:
    assert "algorithm is not accepted" in await refusal(signed(claims()), ServerSettings())


async def test_organisations_come_from_what_the_issuer_says_only() -> None:
    user = await identify(
        signed(
            claims(
                org_id="acme",
                app_metadata={
                    "org_id": "initech",
                    "org_ids": ["umbrella", "acme", "", 7, None, "x" * 256],
                    "plan": "pro",
                },
                user_metadata={"org_id": "evil", "org_ids": ["evil"]},
                orgs=["evil"],
                org_ids=["evil"],
            )
        )
    )
    assert user.orgs == ("acme", "initech", "umbrella")
    told = msgspec.json.decode(user.claims)
    assert told["org_id"] == "acme"
    assert told["app_metadata"] == {"org_id": "initech", "org_ids": ["umbrella", "acme"], "plan": "pro"}
    assert "evil" not in user.claims
    user = await identify(signed(claims(user_metadata={"org_id": "evil", "org_ids": ["evil"]})))
    assert (user.orgs, "evil" in user.claims) == ((), False)


@pytest.mark.parametrize("odd", [
    {"org_id": 7}, {"org_id": ["acme"]}, {"org_id": ""}, {"app_metadata": "acme"}, {"app_metadata": ["acme"]},
    {"app_metadata": {"org_id": {"a": 1}, "org_ids": "acme"}},
])  # fmt: skip
async def test_organisations_of_an_odd_shape_are_none(odd: dict[str, Any]) -> None:
    user = await identify(signed(claims(**odd)))
    assert user.orgs == ()
    # the database reads the same claims: what it is shown has the shape it expects
    told = msgspec.json.decode(user.claims)
    assert isinstance(told.get("org_id"), str | None)
    assert told["app_metadata"] == {"org_id": None, "org_ids": []}


async def test_a_remembered_token_does_not_outlive_its_expiry() -> None:
    now = time.time()
    authenticator = Authenticator(SETTINGS, clock=lambda: now)
    headers = Headers({"Authorization": f"Bearer {signed(claims(iat=now - 100, exp=now + 30))}"})
    first = await authenticator.identify(headers)
    assert await authenticator.identify(headers) is first, "it is remembered"
    now += 29
    assert await authenticator.identify(headers) is first
    now += 12
    with pytest.raises(Problem, match="expired"):
        await authenticator.identify(headers)


async def test_a_token_is_verified_again_after_a_minute() -> None:
    now = time.time()
    authenticator = Authenticator(SETTINGS, clock=lambda: now)
    headers = Headers({"Authorization": f"Bearer {signed(claims(exp=now + 3600))}"})
    first = await authenticator.identify(headers)
    now += 61
    again = await authenticator.identify(headers)
    assert again == first
    assert again is not first


async def test_only_so_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.auth.authenticate.REMEMBERED", 2)
    authenticator = Authenticator(SETTINGS)
    tokens = [Headers({"apikey": signed(claims(sub=f"user {number}"))}) for number in range(3)]
    users = [await authenticator.identify(each) for each in tokens]
    assert await authenticator.identify(tokens[2]) is users[2]
    assert await authenticator.identify(tokens[1]) is users[1]
    assert await authenticator.identify(tokens[0]) is not users[0]


async def test_a_minted_token_is_taken() -> None:
    user = await identify(mint(SECRET, "ada", org="acme"))
    assert (user.subject, user.orgs) == ("ada", ("acme",))
    assert await identify(mint(SECRET, role="service_role")) is SERVICE_TOKEN
    assert await identify(mint(SECRET, role="anon")) is ANONYMOUS
    assert "expired" in await refusal(mint(SECRET, "ada", seconds=-60))
    with pytest.raises(InvalidInput, match="sub: an authenticated token needs a subject"):
        mint(SECRET)
    with pytest.raises(InvalidInput, match="role: must be one of anon"):
        mint(SECRET, "ada", role="postgres")
