"""Keys for development: made once, kept beside the embedded Postgres, readable by their owner alone."""

import os
import secrets
from pathlib import Path

from penstock.server.settings import ServerSettings


def key_file(folder: Path) -> Path:
    return folder / "service-key"


def secret_file(folder: Path) -> Path:
    return folder / "jwt-secret"


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
