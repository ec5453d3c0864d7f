"""The public keys of an issuer (JWKS): fetched when needed, kept when the issuer's server is down."""

import asyncio
import logging
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, Key, OKPKey, RSAKey

log = logging.getLogger("penstock.server")

REFRESH = 300.0
"""A key that its issuer withdrew is accepted for at most this many seconds, while the issuer can be reached."""
LEAST_PAUSE = 10.0
"""The least time between two fetches, whatever key ids callers make up."""
TIMEOUT = 5.0
MAX_BYTES = 1_048_576
MIN_RSA_BITS = 2048


class Keys:
    """The key set at one address. `of` is what verifying asks."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._monotonic = monotonic
        self._keys: list[tuple[str | None, str, Key]] = []
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failing = False
        self._fetching: asyncio.Task[None] | None = None

    @property
    def known(self) -> bool:
        """Whether the set was ever fetched."""
        return self._fetched_at is not None

    async def of(self, algorithm: str, kid: str | None) -> list[Key]:
        """The keys that may verify such a token: of the right type, and of this id when the token names one."""
        if self._is_stale():
            if self._failing and self.known:
                # its server is known to be down: nobody waits for it, and the keys we have stay good
                self._start_fetching()
            else:
                await self._fetch()
        found = self._matching(algorithm, kid)
        if not found and await self._fetch():
            found = self._matching(algorithm, kid)
        return found

    async def aclose(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    def _is_stale(self) -> bool:
        return self._fetched_at is None or self._monotonic() - self._fetched_at >= REFRESH

    def _matching(self, algorithm: str, kid: str | None) -> list[Key]:
        return [key for id, use, key in self._keys if use == algorithm and (kid is None or id == kid)]

    async def _fetch(self) -> bool:
        """Waits for a fetch; False if there was one a moment ago."""
        fetching = self._start_fetching()
        if fetching is None:
            return False
        # shielded: the caller who started it may hang up while others wait
        await asyncio.shield(fetching)
        return True

    def _start_fetching(self) -> asyncio.Task[None] | None:
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        now = self._monotonic()
        if self._tried_at is not None and now - self._tried_at < LEAST_PAUSE:
            return None
        self._tried_at = now
        self._fetching = asyncio.get_running_loop().create_task(self._fetch_now(), name="penstock keys")
        return self._fetching

    async def _fetch_now(self) -> None:
        try:
            self._keys = read_keys(await _get(self._url))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError) as error:
            self._failing = True
            kept = f"{len(self._keys)} keys stay in use" if self.known else "no token can be verified until it answers"
            log.warning("cannot fetch the key set of PENSTOCK_JWKS_URL (%s); %s", type(error).__name__, kept)
        else:
            self._failing = False
            self._fetched_at = self._monotonic()


async def _get(url: str) -> bytes:
    body = bytearray()
    async with (
        asyncio.timeout(TIMEOUT),
        httpx.AsyncClient(timeout=TIMEOUT) as client,
        client.stream("GET", url, headers={"Accept": "application/json"}) as response,
    ):
        response.raise_for_status()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError("the key set is too large")
    return bytes(body)


def read_keys(document: bytes) -> list[tuple[str | None, str, Key]]:
    """The usable keys of a JWKS document as (id, algorithm, key). What we cannot use is left out."""
    try:
        entries = msgspec.json.decode(document, type=dict[str, Any]).get("keys")
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("the key set is not JSON") from None
    if not isinstance(entries, list):
        raise ValueError("the key set has no list of keys")
    return [usable for entry in entries if isinstance(entry, dict) for usable in _read_key(entry)]


def _read_key(entry: Mapping[str, Any]) -> list[tuple[str | None, str, Key]]:
    # only what verifying needs: a private part, should somebody publish one, is not kept
    public = {name: entry[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in entry}
    kid = entry.get("kid")
    if entry.get("use", "sig") != "sig" or not isinstance(kid, str | None):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            key = JWKRegistry.import_key(public)
        algorithms = _algorithms(key)
    except (JoseError, ValueError, TypeError, KeyError):
        log.warning("left out a key of PENSTOCK_JWKS_URL that cannot be read")
        return []
    return [(kid, each, key) for each in algorithms if entry.get("alg", each) in algorithms]


def _algorithms(key: Key) -> tuple[str, ...]:
    """What a key may verify follows from its type, never from the token. A shared secret in a public set: nothing."""
    match key:
        case RSAKey() if key.raw_value.key_size >= MIN_RSA_BITS:
            return ("RS256",)
        case ECKey() if key.curve_name == "P-256":
            return ("ES256",)
        case OKPKey() if key.curve_name == "Ed25519":
            return ("EdDSA", "Ed25519")
    return ()
