"""Standard Webhooks signatures: made for what push kinds send, and checked by whoever receives it."""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.errors import InvalidInput, PenstockError

PREFIX = "whsec_"


class InvalidSignature(PenstockError):
    """A request does not come from who it says, or was changed or held back on its way: answer 401 and do nothing."""


class Signer:
    """Signs with one or several secrets. While a secret is changed both sign, so that either verifies."""

    def __init__(self, secret: str | Sequence[str]) -> None:
        self._keys = _keys(secret)

    def __repr__(self) -> str:
        return f"<Signer with {len(self._keys)} secrets>"

    def headers(self, id: str, body: bytes, now: float | None = None) -> dict[str, str]:
        """The headers that go with this body. `id` stays the same when it is sent again."""
        timestamp = str(int(time.time() if now is None else now))
        signatures = [f"v1,{_signature(key, id, timestamp, body)}" for key in self._keys]
        return {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(signatures)}


def verify(
    secret: str | Sequence[str], headers: Mapping[str, str], body: bytes, tolerance: float = 300
) -> dict[str, Any]:
    """For receivers: what was sent, once its signature is seen to be right and at most `tolerance` seconds old.

    `body` must be the bytes as they came. Raises InvalidSignature. The same webhook-id may come again: a job that was
    not seen to succeed is sent once more.
    """
    given = {name.lower(): value for name, value in headers.items()}
    keys = _keys(secret)
    try:
        id, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        # not int(): of 400 digits it makes a number that no time can be compared with
        age = abs(time.time() - float(timestamp))
        wanted = [_signature(key, id, timestamp, body).encode() for key in keys]
    except (KeyError, ValueError):
        raise InvalidSignature("the headers webhook-id, webhook-timestamp and webhook-signature are needed") from None
    if not age <= tolerance:
        raise InvalidSignature(f"it was signed more than {tolerance:g} seconds from now; is a clock wrong?")
    shown = [each[3:].encode("utf-8", "replace") for each in signatures.split() if each.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in shown for other in wanted):
        raise InvalidSignature("the signature does not fit; is the secret the sender's, and the body as it came?")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise InvalidSignature("the body is signed but is not a JSON object") from None


def _signature(key: bytes, id: str, timestamp: str, body: bytes) -> str:
    signed = b".".join((id.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    """The keys in secrets such as whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw. No error repeats one."""
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise InvalidInput("secret", "give at least one")
    return [_key(each) for each in secrets]


def _key(secret: str) -> bytes:
    made = "make one: python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\""
    if not isinstance(secret, str) or not secret.startswith(PREFIX):
        raise InvalidInput("secret", f"must begin with {PREFIX}; {made}")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("secret", f"must be base64 after {PREFIX}; {made}") from None
    if not 24 <= len(key) <= 64:
        raise InvalidInput("secret", f"must hold 24 to 64 bytes; {made}")
    return key
