"""What is signed: links to files that the server serves itself, and tokens to watch a job with. Each is an id, a time,
and a signature over both."""

import hashlib
import hmac
import re
from contextvars import ContextVar
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

from penstock.errors import PenstockError

address: ContextVar[str | None] = ContextVar("penstock address", default=None)
"""Of the server whose request is being answered here, as its caller sees it."""

_ABOUT = b"penstock artifact link 1"

Purpose = Literal["link", "counted"]
"""A link by itself, or one that a download was already counted for when it was made."""


def signing_secret_of(service_key: str) -> str:
    """Derived, so that a signature says nothing about the key itself."""
    return hmac.new(service_key.encode(), b"penstock signing secret", hashlib.sha256).hexdigest()


def signing_secret(given: str | None, service_key: str | None) -> str | None:
    """The one that is for signing, else one derived from the service key; None without either."""
    return given or (signing_secret_of(service_key) if service_key else None)


class Links:
    """Makes links and checks them. Whoever has the secret can make some; nobody else can, or change one."""

    def __init__(self, secret: str, public_url: str | None = None) -> None:
        self._secret = secret.encode()
        self._base = (public_url or "").rstrip("/")

    def __repr__(self) -> str:
        return f"Links({self._base!r})"

    @classmethod
    def derived_from(cls, given: str | None, service_key: str | None, public_url: str | None) -> "Links | None":
        """With the secret that is for signing, else with one derived from the service key; None without either."""
        secret = signing_secret(given, service_key)
        return cls(secret, public_url) if secret else None

    def make(self, id: UUID, expires: int, purpose: Purpose = "link") -> str:
        """`expires` in seconds of the epoch."""
        base = self._base or address.get()
        if base is None:
            raise PenstockError("links need the server's address as its callers see it: set PENSTOCK_PUBLIC_URL")
        query = urlencode({"expires": expires, "signature": self._sign(id, expires, purpose)})
        return f"{base}/api/artifacts/{id}/file?{query}"

    def signature(self, id: UUID, expires: int) -> str:
        """Of a link that is given elsewhere than in the address that `make` makes."""
        return self._sign(id, expires, "link")

    def purpose_of(self, id: UUID, expires: int, signature: str) -> Purpose | None:
        """What the link was made for; None when it is not one of ours, or not as we made it."""
        given = signature.encode("utf-8", "replace")
        purposes: tuple[Purpose, ...] = ("link", "counted")
        found = [each for each in purposes if hmac.compare_digest(self._sign(id, expires, each).encode(), given)]
        return found[0] if found else None

    def _sign(self, id: UUID, expires: int, purpose: Purpose) -> str:
        text = b"%s\n%s\n%s\n%d" % (_ABOUT, purpose.encode(), str(id).encode(), expires)
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()


_ABOUT_WATCHING = b"penstock watch token 1"
_TOKEN = re.compile(r"(\d{1,12})\.([0-9a-f]{64})")


def make_watch_token(secret: str, job: UUID, expires: int) -> str:
    """`expires` in seconds of the epoch."""
    return f"{expires}.{_sign_watching(secret, job, expires)}"


def read_watch_token(secret: str, job: UUID, token: str, now: float) -> int | None:
    """Until when it may be watched; None when the token is for another job, is over, or is not one of ours."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return None
    expires = int(found[1])
    return expires if hmac.compare_digest(_sign_watching(secret, job, expires), found[2]) and now < expires else None


def _sign_watching(secret: str, job: UUID, expires: int) -> str:
    text = b"%s\n%s\n%d" % (_ABOUT_WATCHING, str(job).encode(), expires)
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
