"""Tokens as Supabase issues them, minted for development, and the key that signs them.

Outside the server, which takes a second to import: `penstock token` needs nothing else of it.
"""

import time
from pathlib import Path

import msgspec

from penstock.errors import InvalidInput
from penstock.extras import needs

with needs("server", "a token"):
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import OctKey

MIN_SECRET = 32
ROLES = ("anon", "authenticated", "service_role")


def secret_file(folder: Path) -> Path:
    """Where `penstock up` keeps the secret that it made."""
    return folder / "jwt-secret"


def secret_key(secret: str) -> OctKey:
    """The key of HS256. A public key is no secret: whoever knows it could sign tokens with it."""
    if len(secret.encode()) < MIN_SECRET:
        raise InvalidInput("jwt_secret", f"must have at least {MIN_SECRET} characters, or tokens could be forged")
    if "-----BEGIN " in secret:
        raise InvalidInput("jwt_secret", "is a PEM key, not a secret; publish public keys as a JWKS and set jwks_url")
    try:
        return OctKey.import_key(secret.encode())
    except (JoseError, ValueError):
        raise InvalidInput("jwt_secret", "is not a secret but a key; set jwks_url for public keys") from None


def mint(
    secret: str,
    subject: str | None = None,
    org: str | None = None,
    role: str = "authenticated",
    seconds: float = 3600,
    audience: str = "authenticated",
    issuer: str | None = None,
) -> str:
    """A token as Supabase would issue it, signed with HS256: for development and tests."""
    if role not in ROLES:
        raise InvalidInput("role", f"must be one of {', '.join(ROLES)}, not {role!r}")
    if role == "authenticated" and not subject:
        raise InvalidInput("sub", "an authenticated token needs a subject: the id of the user")
    now = time.time()
    claims: dict[str, object] = {"role": role, "aud": audience, "iat": int(now), "exp": int(now + seconds)}
    if subject:
        claims["sub"] = subject
    if issuer:
        claims["iss"] = issuer
    if org:
        claims["app_metadata"] = {"org_id": org}
    header = {"typ": "JWT", "alg": "HS256"}
    return jws.serialize_compact(header, msgspec.json.encode(claims), secret_key(secret), algorithms=["HS256"])
