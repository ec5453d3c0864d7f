"""Tokens that an issuer signs with a key of its own and publishes the other half of (JWKS)."""

import asyncio
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from joserfc import jws
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from starlette.datastructures import Headers

from penstock.server.auth import Authenticator
from penstock.server.auth.jwks import read_keys
from penstock.server.http.problems import Problem
from penstock.server.settings import ServerSettings
from tests.kit.fake_http import Answer, Request, fake_server
from tests.kit.until import soon, until

ALGORITHMS = ["RS256", "ES256", "EdDSA", "Ed25519", "HS256", "RS512", "ES384"]


@dataclass
class Issuer:
    """Publishes these keys; `down` is what it answers instead when it is not well."""

    keys: list[Key] = field(default_factory=list)
    down: Answer | None = None
    asked: int = 0

    def answer(self, request: Request) -> Answer:
        self.asked += 1
        if self.down is not None:
            return self.down
        body = msgspec.json.encode({"keys": [key.as_dict(private=False) for key in self.keys]})
        return Answer(body=body, headers={"Content-Type": "application/json"})


@dataclass
class Clock:
    """Both of an authenticator's clocks, moved by the test."""

    passed: float = 0.0

    def wall(self) -> float:
        return time.time() + self.passed

    def monotonic(self) -> float:
        return 1000.0 + self.passed

    def authenticator(self, url: str, **settings: Any) -> Authenticator:
        return Authenticator(ServerSettings(jwks_url=url, **settings), clock=self.wall, monotonic=self.monotonic)


RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
EC = ECKey.generate_key("P-256", {"kid": "ec", "alg": "ES256", "use": "sig"})
ED = OKPKey.generate_key("Ed25519", {"kid": "ed"})


def new_key(kid: str) -> Key:
    return ECKey.generate_key("P-256", {"kid": kid})


def signed(key: Key, algorithm: str = "ES256", kid: str | None = "", **changed: Any) -> str:
    """By a user; `kid` is the key's own if it is left out, and None for a token that names none."""
    now = int(time.time())
    claims = {"sub": "ada", "role": "authenticated", "aud": "authenticated", "exp": now + 7200, **changed}
    header = {"alg": algorithm} | ({} if kid is None else {"kid": kid or key.kid})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # EdDSA has got a second name, and the old one is discouraged
        return jws.serialize_compact(header, msgspec.json.encode(claims), key, registry=JWSRegistry(None, ALGORITHMS))


async def subject(authenticator: Authenticator, token: str) -> str | None:
    """Who it is, None if it is refused."""
    try:
        return (await authenticator.identify(Headers({"Authorization": f"Bearer {token}"}))).subject
    except Problem as problem:
        return None if problem.status == 401 else str(problem)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA, "RS256"), (EC, "ES256"), (ED, "EdDSA"), (ED, "Ed25519")],
    ids=["RS256", "ES256", "EdDSA", "Ed25519"],
)
async def test_the_issuers_keys_verify_its_tokens(key: Key, algorithm: str) -> None:
    issuer = Issuer([RSA, EC, ED])
    async with fake_server(issuer.answer) as server:
        authenticator = Clock().authenticator(server.url)
        assert await subject(authenticator, signed(key, algorithm)) == "ada"
        assert await subject(authenticator, signed(key, algorithm, kid=None)) == "ada"
        assert await subject(authenticator, signed(key, algorithm, sub="bob")) == "bob"
    assert issuer.asked == 1, "the keys are kept"


async def test_a_key_does_what_its_type_is_for_and_nothing_else() -> None:
    issuer = Issuer([RSA, EC, ED])
    stranger = RSAKey.generate_key(2048, {"kid": "rsa"})
    async with fake_server(issuer.answer) as server:
        authenticator = Clock().authenticator(server.url)
        assert await subject(authenticator, signed(stranger, "RS256")) is None
        assert await subject(authenticator, signed(RSA, "RS256", kid="ec")) is None
        assert await subject(authenticator, signed(RSA, "RS512")) is None
        assert await subject(authenticator, signed(RSA, "RS256", exp=int(time.time()) - 60)) is None


@pytest.mark.parametrize("also_a_secret", [False, True])
async def test_a_public_key_signs_nothing(also_a_secret: bool) -> None:
    """RS256 taken for HS256: everybody has the public key, so a token signed with its bytes is anybody's."""
    settings = {"jwt_secret": "a-secret-that-only-the-issuer-and-we-know"} if also_a_secret else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spellings = [RSA.as_pem(private=False), RSA.as_pem(private=False).strip(), RSA.as_der(private=False)]
        spellings.append(msgspec.json.encode(RSA.as_dict(private=False)))
        forged = [signed(OctKey(each, each, {"kid": "rsa"}), "HS256") for each in spellings]
    issuer = Issuer([RSA])
    async with fake_server(issuer.answer) as server:
        authenticator = Clock().authenticator(server.url, **settings)
        assert [await subject(authenticator, each) for each in forged] == [None] * len(spellings)


async def test_a_shared_secret_that_is_published_is_none() -> None:
    secret = OctKey.generate_key(256, {"kid": "oct"})
    document = msgspec.json.encode({"keys": [secret.as_dict(), RSA.as_dict(private=False)]})
    assert [(kid, algorithm) for kid, algorithm, _ in read_keys(document)] == [("rsa", "RS256")]
    async with fake_server(lambda _: Answer(body=document)) as server:
        assert await subject(Clock().authenticator(server.url), signed(secret, "HS256")) is None


def test_keys_of_no_use_are_left_out_and_the_others_kept() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    entries: list[object] = [
        weak.as_dict(private=False),
        {**RSA.as_dict(private=False), "use": "enc"},
        {**RSA.as_dict(private=False), "alg": "RS512"},
        {**RSA.as_dict(private=False), "kid": 7},
        ECKey.generate_key("P-384", {"kid": "p384"}).as_dict(private=False),
        OKPKey.generate_key("X25519", {"kid": "x"}).as_dict(private=False),
        {"kty": "RSA"}, {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}, {"kty": "future"}, {}, None, 7,
        EC.as_dict(private=True),
    ]  # fmt: skip
    [(kid, algorithm, key)] = read_keys(msgspec.json.encode({"keys": entries}))
    assert (kid, algorithm, key.is_private) == ("ec", "ES256", False)


async def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    clock, issuer, later = Clock(), Issuer([EC]), new_key("later")
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        assert await subject(authenticator, signed(EC)) == "ada"
        issuer.keys.append(later)
        clock.passed += 11
        assert await subject(authenticator, signed(later)) == "ada"
        assert await subject(authenticator, signed(EC, sub="bob")) == "bob"
    assert issuer.asked == 2


async def test_a_withdrawn_key_stops_working() -> None:
    clock, issuer, gone = Clock(), Issuer([EC]), new_key("gone")
    issuer.keys.append(gone)
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        token = signed(gone)
        assert await subject(authenticator, token) == "ada"
        issuer.keys.remove(gone)
        clock.passed += 301
        assert await subject(authenticator, token) is None, "also when it is remembered"
        assert await subject(authenticator, signed(gone, sub="bob")) is None
        assert await subject(authenticator, signed(EC)) == "ada"


async def test_an_issuer_may_withdraw_all_its_keys() -> None:
    clock, issuer = Clock(), Issuer([EC])
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        assert await subject(authenticator, signed(EC)) == "ada"
        issuer.keys.clear()
        clock.passed += 301
        assert await subject(authenticator, signed(EC)) is None


@pytest.mark.parametrize("down", [
    Answer(500), Answer(404), Answer(body=b"<html>"), Answer(body=b"[]"), Answer(body=b'{"keys": {}}'),
    Answer(body=b"[" * 100_000), Answer(body=bytes(2_000_000)), Answer(302, headers={"Location": "http://127.0.0.1:9/"}),
], ids=lambda answer: f"{answer.status} {answer.body[:8]!r}")  # fmt: skip
async def test_known_keys_go_on_while_the_key_server_is_ill(down: Answer) -> None:
    clock, issuer = Clock(), Issuer([EC])
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        assert await subject(authenticator, signed(EC)) == "ada"
        issuer.down = down
        for _ in range(3):
            clock.passed += 400
            assert await subject(authenticator, signed(EC, sub="bob")) == "bob"
        issuer.down, issuer.keys = None, [new_key("other")]
        clock.passed += 400

        # nobody waits for a server that was down a moment ago: the first to come sets it going
        async def refused_later_on() -> bool:
            clock.passed += 61
            return await subject(authenticator, signed(EC, sub="bob")) is None

        await until(refused_later_on)
        await authenticator.aclose()


async def test_known_keys_go_on_while_the_key_server_is_gone() -> None:
    clock, issuer = Clock(), Issuer([EC])
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        assert await subject(authenticator, signed(EC)) == "ada"
    clock.passed += 1000
    assert await subject(authenticator, signed(EC, sub="bob")) == "bob"
    await authenticator.aclose()


async def test_a_key_server_that_was_never_there_is_tried_again() -> None:
    clock, issuer = Clock(), Issuer([EC], down=Answer(503))
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        with pytest.raises(Problem, match="cannot be fetched; try again"):
            await authenticator.identify(Headers({"apikey": signed(EC)}))
        issuer.down = None
        clock.passed += 11
        assert await subject(authenticator, signed(EC)) == "ada"


async def test_a_flood_of_made_up_keys_does_not_reach_the_key_server() -> None:
    clock, issuer = Clock(), Issuer([EC])
    async with fake_server(issuer.answer) as server:
        authenticator = clock.authenticator(server.url)
        made_up = [signed(EC, kid=f"made up {number}") for number in range(50)]
        assert set(await asyncio.gather(*(subject(authenticator, each) for each in made_up))) == {None}
        assert set(await asyncio.gather(*(subject(authenticator, each) for each in made_up))) == {None}
        assert issuer.asked == 1
        clock.passed += 11
        assert set(await asyncio.gather(*(subject(authenticator, each) for each in made_up))) == {None}
        assert issuer.asked == 2
        assert await subject(authenticator, signed(EC)) == "ada", "and the others are served"


async def test_many_who_come_at_once_share_one_fetch() -> None:
    issuer = Issuer([EC])
    async with fake_server(issuer.answer) as server:
        authenticator = Clock().authenticator(server.url)
        tokens = [signed(EC, sub=f"user {number}") for number in range(20)]
        found = await asyncio.gather(*(subject(authenticator, each) for each in tokens))
    assert found == [f"user {number}" for number in range(20)]
    assert issuer.asked == 1


async def test_who_hangs_up_does_not_take_the_keys_from_the_others() -> None:
    arrived, go = asyncio.Event(), asyncio.Event()
    issuer = Issuer([EC])

    async def slowly(request: Request) -> Answer:
        arrived.set()
        await go.wait()
        return issuer.answer(request)

    async with fake_server(slowly) as server:
        authenticator = Clock().authenticator(server.url)
        first = asyncio.create_task(subject(authenticator, signed(EC)))
        await soon(arrived.wait())
        second = asyncio.create_task(subject(authenticator, signed(EC, sub="bob")))
        await asyncio.sleep(0)
        first.cancel()
        go.set()
        assert await soon(second) == "bob"
    assert issuer.asked == 1
