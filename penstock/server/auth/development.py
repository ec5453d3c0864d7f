"""Keys for development: made once, kept beside the embedded Postgres, readable by their owner alone; and a way to sign
in by them."""

import base64
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from penstock.server.settings import ServerSettings
from penstock.tokens import mint, secret_file


def key_file(folder: Path) -> Path:
    return folder / "service-key"


def settings_for_development(folder: Path) -> ServerSettings:
    """The environment's settings; a service key and a secret for tokens are made where it has none."""
    settings = ServerSettings.from_environment()
    made = {}
    if settings.service_key is None:
        made["service_key"] = _kept(key_file(folder))
    if settings.jwt_secret is None and settings.jwks_url is None:
        made["jwt_secret"] = _kept(secret_file(folder))
    return ServerSettings.from_environment(**made)


def _kept(path: Path) -> str:
    """What the file holds; a new secret when there is none. Of several that start at once, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text("ascii").strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(secret := secrets.token_hex(32))
    return secret


ORG = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
"""The organisation of whoever signs in so."""
SIGNED_IN = 12 * 3600
"""Seconds."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """Lets whoever sees the terminal of `penstock up` into the application's pages as an ordinary user, by a link with
    a code in it. The code follows from the secret in .penstock, so it works again after a restart."""

    settings: ServerSettings
    subject: str = "ada"
    org: str = ORG

    @property
    def code(self) -> str:
        digest = hmac.digest(str(self.settings.jwt_secret).encode(), b"penstock: a link to sign in by", "sha256")
        return base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()

    def link(self, address: str) -> str:
        """A page of the application, as somebody who may sign in opens it. No server and no log on the way sees what is
        behind the #."""
        return f"{address}#sign-in={self.code}"

    def token(self, code: str) -> str | None:
        """What the page asks with from then on; None for another code."""
        if not hmac.compare_digest(code.encode(), self.code.encode()):
            return None
        settings = self.settings
        return mint(
            str(settings.jwt_secret),
            self.subject,
            self.org,
            seconds=SIGNED_IN,
            audience=settings.jwt_audience,
            issuer=settings.jwt_issuer,
        )


def sign_in_for_development(folder: Path, settings: ServerSettings, subject: str = "ada") -> SignIn | None:
    """None unless tokens are signed with the secret that was made here: one that comes from elsewhere is that of real
    users."""
    path = secret_file(folder)
    ours = settings.jwt_secret is not None and path.exists() and path.read_text("ascii").strip() == settings.jwt_secret
    return SignIn(settings, subject) if ours else None
