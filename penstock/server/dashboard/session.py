"""Who has signed in, in a cookie: signed, not stored, so any server with the same secrets reads it."""

import hashlib
import hmac
import logging
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Literal

import msgspec

from penstock.server.settings import ServerSettings

log = logging.getLogger("penstock.server")

Role = Literal["operator", "viewer"]

_ABOUT = b"penstock dashboard session 1"
_LONGEST = 4000


class Session(msgspec.Struct, frozen=True):
    """`name` is who, as the audit log has it; `expires` in seconds of the epoch."""

    name: str
    role: Role
    expires: int
    nonce: str

    @property
    def operates(self) -> bool:
        """Whether it may change anything."""
        return self.role == "operator"


class Sessions:
    """Makes sessions and reads them again. Their key is derived from all secrets that this server has, so whoever
    changes one signs everybody out."""

    def __init__(self, settings: ServerSettings, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._longest = settings.dashboard_seconds
        known = [settings.signing_secret, settings.service_key, settings.jwt_secret]
        if not any(known):
            known = [secrets.token_hex()]
            if settings.jwks_url:  # or nobody can sign in anyway
                log.warning(
                    "sessions of the dashboard end with this process, and no other knows them: "
                    "set PENSTOCK_SIGNING_SECRET, the same for all"
                )
        self._key = hashlib.sha256(msgspec.json.encode([_ABOUT.decode(), *known])).digest()

    def open(self, name: str, role: Role, until: float | None = None) -> Session:
        """A new one: as long as the setting says, and not longer than the token that it was opened with."""
        expires = self._clock() + self._longest
        return Session(name, role, int(min(expires, until) if until is not None else expires), secrets.token_hex(16))

    def seal(self, session: Session) -> str:
        body = urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{body}.{self._sign('session', body)}"

    def read(self, text: str | None) -> Session | None:
        """The session that was sealed; None when it is over, or not as we made it."""
        if not text or len(text) > _LONGEST:
            return None
        body, _, signature = text.partition(".")
        if not hmac.compare_digest(self._sign("session", body).encode(), signature.encode("utf-8", "replace")):
            return None
        session = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=Session)
        return session if self._clock() < session.expires else None

    def wrap(self, text: str) -> str:
        """A sentence for the next page, as a cookie can hold it."""
        body = urlsafe_b64encode(text.encode("utf-8", "replace")[:1500]).decode().rstrip("=")
        return f"{body}.{self._sign('said', body)}"

    def unwrap(self, text: str | None) -> str | None:
        body, _, signature = (text or "").partition(".")
        if not hmac.compare_digest(self._sign("said", body).encode(), signature.encode("utf-8", "replace")):
            return None
        return urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("utf-8", "replace")

    def form_token(self, session: Session) -> str:
        """What its forms carry: another site can send a form here, but does not know this."""
        return self._sign("form", session.nonce)

    def owns(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.form_token(session).encode(), token.encode("utf-8", "replace"))

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}\n{text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()
