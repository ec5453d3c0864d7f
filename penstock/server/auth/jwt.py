"""JSON Web Tokens as Supabase issues them: read, verified and checked."""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry

from penstock.server.auth.identity import ANONYMOUS, SERVICE_TOKEN, Identity
from penstock.server.settings import ServerSettings
from penstock.tokens import ROLES

MAX_TOKEN = 16_384
MAX_HEADER = 1024
MAX_NAME = 255
MAX_TIME = 1e12
LEEWAY = 10.0
"""Seconds that the issuer's clock and ours may differ."""
ASYMMETRIC = ("RS256", "ES256", "EdDSA", "Ed25519")
ALGORITHMS = ("HS256", *ASYMMETRIC)


class InvalidToken(Exception):
    """Why a token is refused, in words that reveal nothing of it."""


@dataclass(frozen=True, slots=True)
class Unverified:
    """A token's text and the two things its header may say: everything else waits for the signature."""

    text: bytes
    algorithm: str
    kid: str | None


class _Registry(JWSRegistry):
    """As in the standard, unknown header fields are ignored; and EdDSA, by either of its names, needs no warning."""

    def __init__(self) -> None:
        super().__init__(algorithms=ALGORITHMS, strict_check_header=False)

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


_REGISTRY = _Registry()


def read_header(token: str) -> Unverified:
    """Looks at a token that nobody has verified."""
    if len(token) > MAX_TOKEN:
        raise InvalidToken("the token is too large")
    parts = token.split(".")
    if len(parts) != 3 or not all(parts) or not token.isascii() or len(parts[0]) > MAX_HEADER:
        raise InvalidToken("the token is not a signed JWT")
    try:
        header = msgspec.json.decode(urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)), type=dict[str, Any])
    except (binascii.Error, msgspec.DecodeError, ValueError, RecursionError):
        raise InvalidToken("the token is not a signed JWT") from None
    if "crit" in header or "b64" in header:
        raise InvalidToken("the token demands an extension that is not supported")
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise InvalidToken("the token's algorithm is not accepted")
    if not isinstance(kid, str | None):
        raise InvalidToken("the token's key id is not text")
    return Unverified(token.encode("ascii"), algorithm, kid)


def verify(token: Unverified, keys: Iterable[Key]) -> dict[str, Any]:
    """The claims of a token that one of these keys has signed."""
    for key in keys:
        try:
            payload = jws.deserialize_compact(token.text, key, registry=_REGISTRY).payload
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            continue
        try:
            return msgspec.json.decode(payload, type=dict[str, Any])
        except (msgspec.DecodeError, ValueError, RecursionError):
            raise InvalidToken("the token's claims are not a JSON object") from None
    raise InvalidToken("the token's signature does not verify")


def check(claims: dict[str, Any], settings: ServerSettings, now: float) -> tuple[Identity, float]:
    """Who verified claims speak of, and until when."""
    expires = _time(claims, "exp")
    if expires is None:
        raise InvalidToken("the token has no expiry")
    if expires + LEEWAY <= now:
        raise InvalidToken("the token has expired")
    if (_time(claims, "nbf") or 0) - LEEWAY > now or (_time(claims, "iat") or 0) - LEEWAY > now:
        raise InvalidToken("the token is not valid yet")
    if settings.jwt_issuer is not None and claims.get("iss") != settings.jwt_issuer:
        raise InvalidToken("the token is from another issuer")
    role = claims.get("role")
    if role not in ROLES:
        raise InvalidToken("the token's role is none of anon, authenticated, service_role")
    audience = claims.get("aud")
    # Supabase's own anon and service_role keys have no audience
    if (audience is not None or role == "authenticated") and not _names(audience, settings.jwt_audience):
        raise InvalidToken("the token is for another audience")
    if role == "service_role":
        return SERVICE_TOKEN, expires
    return (ANONYMOUS if role == "anon" else _user(claims)), expires


def _time(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MAX_TIME:
        raise InvalidToken(f"the token's {name} is not a time")
    return float(value)


def _names(audience: object, wanted: str) -> bool:
    return audience == wanted or (isinstance(audience, list) and wanted in audience)


def _user(claims: dict[str, Any]) -> Identity:
    subject = _name(claims.get("sub"))
    if subject is None:
        raise InvalidToken("the token names no subject")
    # app_metadata is the issuer's word; what users may write themselves (user_metadata) joins nobody to anything
    given = claims.get("app_metadata")
    metadata = dict(given) if isinstance(given, dict) else {}
    listed = metadata.get("org_ids")
    org = _name(claims.get("org_id"))
    metadata["org_id"] = _name(metadata.get("org_id"))
    metadata["org_ids"] = [each for each in listed if _name(each)] if isinstance(listed, list) else []
    orgs = dict.fromkeys(each for each in (org, metadata["org_id"], *metadata["org_ids"]) if each)
    kept = {
        "sub": subject,
        "role": "authenticated",
        "aud": claims.get("aud"),
        "exp": claims.get("exp"),
        "email": _name(claims.get("email")),
        "org_id": org,
        "app_metadata": metadata,
    }
    text = msgspec.json.encode({name: value for name, value in kept.items() if value is not None}).decode()
    if "\\u0000" in text:
        # Postgres has no such character: reading the claims would fail there
        raise InvalidToken("the token's claims hold a zero character")
    return Identity("authenticated", subject, tuple(orgs), text)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_NAME else None
