"""What Redis raises: that it is away, which passes, and that it will never let this address in, which does not."""

import ssl

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    TimeoutError,
    TryAgainError,
)  # fmt: skip

from penstock.engine.bullmq.address import Address
from penstock.errors import DatabaseUnavailable, PenstockError

LOST = (ConnectionError, TimeoutError, ClusterDownError, BusyLoadingError, TryAgainError, OSError)


class RedisUnavailable(DatabaseUnavailable, OSError):
    """Redis cannot be reached, or answers nobody."""

    what, address = "Redis", "its address"


class RedisRefuses(PenstockError):
    """Redis is there and lets nobody in by this address, however often it is asked."""


def refusal_by(error: BaseException, address: Address) -> RedisRefuses | None:
    """What to do about it, where trying again is of no use."""
    where = address.shown
    if isinstance(error, AuthenticationError | AuthorizationError):
        return RedisRefuses(
            f"Redis ({where}) refuses the user or the password: write them as redis://user:password@host, a sign that "
            "is none of a URL as %xx"
        )
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return RedisRefuses(
                f"Redis ({where}) has a certificate that is not trusted ({cause.verify_message.rstrip('.')}): name the "
                "certificate of whoever signed it by ?ssl_ca_certs=/path/ca.pem, and the host as it is written in it"
            )
        if isinstance(cause, FileNotFoundError | PermissionError | IsADirectoryError) and address.tls:
            return RedisRefuses(f"Redis ({where}): a file that ?ssl_…= names cannot be read ({cause.strerror})")
    return None


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
