"""Addresses that a provider is given to call back once: each says which job and event it is for and until when, and is
signed, so that nobody can make one or change it."""

import base64
import binascii
import hashlib
import hmac
import math
import os
import re
import time
from uuid import UUID

import msgspec

from penstock.errors import InvalidInput, PenstockError
from penstock.event import checked_event
from penstock.storage.links import signing_secret

VARIABLE = "PENSTOCK_CALLBACK_SECRET_"
"""Begins the name of the variable that has a provider's Standard Webhooks secret; several with commas between them."""
LONGEST = 366 * 86_400.0

_ABOUT = b"penstock callback 1\n"
_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


class Callback(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a token says."""

    job: UUID
    event: str
    step: str
    """Which of the job's: each is taken once, in whichever run the address was made."""
    expires: int
    secret: str | None = None


def make_url(
    job: UUID, event: str, step: str, seconds: float, secret: str | None, default: tuple[str, str] = ("", "")
) -> str:
    """An address for whoever is to call back, signed with what the server has too. `default`: the server's address and
    that secret where the environment has none."""
    event = checked_event(event)
    if not 0 < seconds <= LONGEST:
        raise InvalidInput("expires", f"must be more than 0 and at most {LONGEST:g} seconds, not {seconds!r}")
    if secret is not None and not _SECRET_NAME.fullmatch(secret):
        raise InvalidInput("secret", f"names the variable {VARIABLE}…: in capitals, such as STRIPE; not {secret!r}")
    base = (os.environ.get("PENSTOCK_PUBLIC_URL") or default[0]).rstrip("/")
    if not base:
        raise PenstockError(
            "a callback needs the server's address as its callers see it: set PENSTOCK_PUBLIC_URL for the worker too"
        )
    signed_by = signing_secret(os.environ.get("PENSTOCK_SIGNING_SECRET"), os.environ.get("PENSTOCK_SERVICE_KEY"))
    signed_by = signed_by or default[1]
    if not signed_by:
        raise PenstockError(
            "callbacks are signed: set PENSTOCK_SIGNING_SECRET (or PENSTOCK_SERVICE_KEY) here as for the server"
        )
    callback = Callback(job, event, step, math.ceil(time.time() + seconds), secret)
    return f"{base}/api/callbacks/{make_token(signed_by, callback)}"


def make_token(signed_by: str, callback: Callback) -> str:
    said = msgspec.json.encode(callback)
    return _text(said + _signature(signed_by, said))


def read_token(signed_by: str, token: str) -> Callback | None:
    """None when it is not one of ours, or not as we made it. Whether it is over is for the caller to see."""
    try:
        whole = base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return None
    said, shown = whole[:-32], whole[-32:]
    if not hmac.compare_digest(_signature(signed_by, said), shown) or _text(whole) != token:
        return None
    return msgspec.json.decode(said, type=Callback)


def secrets_of(name: str) -> list[str]:
    """What the environment has under this name; none when it has nothing."""
    return [each.strip() for each in os.environ.get(f"{VARIABLE}{name}", "").split(",") if each.strip()]


def _signature(signed_by: str, said: bytes) -> bytes:
    return hmac.digest(signed_by.encode(), _ABOUT + said, hashlib.sha256)


def _text(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()
