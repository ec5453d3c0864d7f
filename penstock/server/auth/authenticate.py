"""Who a request comes from: a service key, a token, or nobody."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from joserfc.jwk import Key

from penstock.errors import InvalidInput
from penstock.server.auth.identity import ANONYMOUS, SERVICE, Identity
from penstock.server.auth.jwks import Keys
from penstock.server.auth.jwt import InvalidToken, Unverified, check, read_header, verify
from penstock.server.http.problems import Problem
from penstock.server.settings import ServerSettings
from penstock.tokens import secret_key

__all__ = ["Authenticator"]

REMEMBERED = 4096
"""Tokens remembered at once."""
REMEMBER = 60.0
"""Seconds that a verified token is taken on trust: so long, at most, does it outlive its key. It spares a client that
polls most of its cost here: 2.6 µs instead of 53 µs (HS256)."""


class Authenticator:
    """Identifies callers by the server's settings. One for a server: it remembers tokens and keys."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if settings.service_key is not None and len(settings.service_key) < 16:
            raise InvalidInput("service_key", "must have at least 16 characters; make one: openssl rand -hex 32")
        self._settings = settings
        self._clock = clock
        self._service_key = settings.service_key.encode() if settings.service_key else None
        self._secret = secret_key(settings.jwt_secret) if settings.jwt_secret else None
        self._keys = Keys(settings.jwks_url, monotonic) if settings.jwks_url else None
        self._seen: OrderedDict[bytes, tuple[float, float, Identity]] = OrderedDict()

    async def identify(self, headers: Mapping[str, str]) -> Identity:
        """The caller behind these headers, whose names are lower case or in any case, as Starlette's; 401 for what
        does not verify."""
        try:
            shown = _shown(headers)
            if shown is None:
                return ANONYMOUS
            # a header's text holds its bytes one by one
            return await self._identify(shown.encode("latin-1"))
        except (InvalidToken, UnicodeEncodeError) as error:
            reason = str(error) if isinstance(error, InvalidToken) else "the token is not a signed JWT"
            raise Problem(401, reason, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'}) from None

    async def sign_in(self, credential: str) -> tuple[Identity, Mapping[str, Any]]:
        """Who shows a service key or a token, and all claims of the token; InvalidToken for what does not verify."""
        try:
            shown = credential.encode("ascii")
        except UnicodeEncodeError:
            raise InvalidToken("the token is not a signed JWT") from None
        if self._is_service_key(shown):
            return SERVICE, {}
        token = read_header(credential)
        claims = verify(token, await self._keys_for(token))
        return check(claims, self._settings, self._clock())[0], claims

    async def aclose(self) -> None:
        if self._keys is not None:
            await self._keys.aclose()

    async def _identify(self, shown: bytes) -> Identity:
        if self._is_service_key(shown):
            return SERVICE
        now = self._clock()
        digest = sha256(shown).digest()
        seen = self._seen.get(digest)
        if seen is not None and seen[0] <= now < seen[1]:
            self._seen.move_to_end(digest)
            return seen[2]
        token = read_header(shown.decode("latin-1"))
        identity, expires = check(verify(token, await self._keys_for(token)), self._settings, now)
        self._remember(digest, identity, now, expires)
        return identity

    def _is_service_key(self, shown: bytes) -> bool:
        return self._service_key is not None and hmac.compare_digest(shown, self._service_key)

    async def _keys_for(self, token: Unverified) -> list[Key]:
        """The kind of key follows from our settings: no public key ever serves as a secret."""
        if token.algorithm == "HS256":
            if self._secret is None:
                raise InvalidToken("the token's algorithm is not accepted")
            return [self._secret]
        if self._keys is None:
            raise InvalidToken("the token's algorithm is not accepted")
        found = await self._keys.of(token.algorithm, token.kid)
        if not found:
            unknown = "the token's key is not known"
            raise InvalidToken(unknown if self._keys.known else "the keys for tokens cannot be fetched; try again")
        return found

    def _remember(self, digest: bytes, identity: Identity, now: float, expires: float) -> None:
        self._seen[digest] = (now, min(expires, now + REMEMBER), identity)
        self._seen.move_to_end(digest)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)


def _shown(headers: Mapping[str, str]) -> str | None:
    """What the caller shows. Supabase's clients send both headers: then Authorization says who, apikey which app."""
    authorization = headers.get("authorization")
    if authorization is None:
        return headers.get("apikey")
    scheme, _, credential = authorization.partition(" ")
    if scheme.lower() != "bearer":
        raise InvalidToken("send Authorization: Bearer <token>")
    return credential.strip()
