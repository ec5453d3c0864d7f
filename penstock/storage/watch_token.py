"""Tokens that let whoever has one watch one job for a while: a time, and a signature over that and the job's id."""

import hashlib
import hmac
import re
from uuid import UUID

_ABOUT = b"penstock watch token 1"
_TOKEN = re.compile(r"(\d{1,12})\.([0-9a-f]{64})")


def make_watch_token(secret: str, job: UUID, expires: int) -> str:
    """`expires` in seconds of the epoch."""
    return f"{expires}.{_sign(secret, job, expires)}"


def read_watch_token(secret: str, job: UUID, token: str, now: float) -> int | None:
    """Until when it may be watched; None when the token is for another job, is over, or is not one of ours."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return None
    expires = int(found[1])
    return expires if hmac.compare_digest(_sign(secret, job, expires), found[2]) and now < expires else None


def _sign(secret: str, job: UUID, expires: int) -> str:
    text = b"%s\n%s\n%d" % (_ABOUT, str(job).encode(), expires)
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
