"""Kinds whose handler is a URL: each job is POSTed there, signed, and the answer is its result."""

import inspect
import math
import os
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from penstock.context import Context
from penstock.errors import InvalidInput, PenstockError
from penstock.extras import needs
from penstock.json import MAX_PAYLOAD, encode_output
from penstock.outcome import Fail, Snooze
from penstock.signatures import InvalidSignature, Signer, verify

if typing.TYPE_CHECKING:
    import httpx

    from penstock.outbound import Guard

__all__ = ["InvalidSignature", "PushFailed", "push_to", "verify"]

TIMEOUT = 30.0
MAX_SNOOZES = 100
"""How often a receiver may put a job off, unless its kind says otherwise."""
LONGEST_SNOOZE = 86_400.0
ALLOWED = "PENSTOCK_PUSH_ALLOW"
_OURS = ("content-length", "content-type", "host", "transfer-encoding")


class PushFailed(PenstockError):
    """The receiver did not take the job. It is tried again by the backoff of its kind."""


def push_to(
    kind: str,
    url: str,
    *,
    secret: str | Sequence[str],
    timeout: float = TIMEOUT,
    allow: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    follow_redirects: bool = False,
    args: Callable[..., object] | None = None,
) -> Callable[..., Awaitable[object]]:
    """The handler of such a kind. See Penstock.push."""
    with needs("push", "app.push"):
        from penstock.outbound import Guard
    guard = Guard([*allow, *(each.strip() for each in os.environ.get(ALLOWED, "").split(",") if each.strip())])
    sender = Sender(url, Signer(secret), guard, timeout, _checked(headers or {}), follow_redirects)

    # positional only: a job may have an argument named ctx
    async def push(ctx: Context, /, **_: object) -> object:
        return await sender.send(ctx)

    push.__name__ = kind
    push.__doc__ = f"Pushes its jobs to {sender.host}."
    if args is not None:
        _take_arguments_of(push, args)
    return push


class Sender:
    """Sends jobs to one URL and reads what the answers mean."""

    def __init__(
        self,
        url: str,
        signer: Signer,
        guard: "Guard",
        timeout: float,
        headers: Mapping[str, str],
        follow_redirects: bool,
    ) -> None:
        import httpx

        try:
            self.host = httpx.URL(url).host
        except (httpx.InvalidURL, TypeError):
            self.host = ""
        if not self.host or not url.startswith(("http://", "https://")):
            raise InvalidInput("url", "must be an address such as https://example.com/hooks")
        self._url = url
        self._signer = signer
        self._guard = guard
        self._timeout = timeout
        self._headers = headers
        self._follows = follow_redirects

    async def send(self, ctx: Context) -> object:
        import httpx

        from penstock.outbound import Refused, TooLarge, guarded_client

        body = _body(ctx)
        headers = {**self._headers, "content-type": "application/json", **self._signer.headers(str(ctx.id), body)}
        client = guarded_client(
            self._guard, timeout=self._timeout, max_bytes=MAX_PAYLOAD, follow_redirects=self._follows
        )
        try:
            async with client, client.stream("POST", self._url, content=body, headers=headers) as response:
                try:
                    answer = await response.aread()
                except TooLarge:
                    answer = b""  # it was taken or not, as its status says; what else it had to say is left
            return self._outcome(response, answer)
        except Refused as refused:
            if not refused.lasting:
                # what a name leads to may be put right while the job is tried again
                raise PushFailed(str(refused)) from None
            return Fail(f"{refused} (allow=… of app.push, or {ALLOWED})")
        except httpx.TimeoutException:
            raise PushFailed(f"{self.host} did not answer within {self._timeout:g} s") from None
        except httpx.HTTPError as error:
            raise PushFailed(f"cannot reach {self.host}: {type(error).__name__}") from None

    def _outcome(self, response: "httpx.Response", answer: bytes) -> object:
        status = response.status_code
        if response.request.method != "POST":
            # 301, 302 and 303 turn it into a GET: whatever was answered, nothing was delivered
            raise PushFailed(f"{self.host} redirects in a way that loses the job; only 307 and 308 keep it")
        if 200 <= status < 300:
            return _output(answer)
        if status == 410:
            return Fail(f"{self.host} answered 410: it wants no more of these")
        wait = _retry_after(response.headers.get("retry-after", "")) if status in (429, 503) else None
        if wait is not None:
            return Snooze(wait)
        if 300 <= status < 400:
            raise PushFailed(
                f"{self.host} answered {status}, a redirect, which is not followed: give the address that it leads to"
            )
        raise PushFailed(f"{self.host} answered {status}")


def _body(ctx: Context) -> bytes:
    job = ctx.job
    return msgspec.json.encode(
        {
            "id": job.id,
            "kind": job.kind,
            "attempt": job.attempt,
            "args": msgspec.Raw(job.args.encode()),
            "owner": job.owner,
            "org": job.org,
            "created_at": job.created_at.astimezone(UTC),
        }
    )


def _output(answer: bytes) -> object:
    """The job's output: the answer if it is JSON that can be kept, else nothing. Either way the job is delivered."""
    try:
        output: object = msgspec.json.decode(answer)
        encode_output(output)
    except (msgspec.DecodeError, InvalidInput, ValueError, RecursionError):
        return None
    return output


def _retry_after(text: str) -> float | None:
    """Seconds, from a number of them or a date."""
    try:
        wait = float(text) if text.strip().isdigit() else _seconds_until(text)
    except (ValueError, OverflowError):
        return None
    return min(max(wait, 1.0), LONGEST_SNOOZE) if math.isfinite(wait) else None


def _seconds_until(date: str) -> float:
    then = parsedate_to_datetime(date)
    return ((then if then.tzinfo else then.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise InvalidInput("headers", f"{name} is set by Penstock")
        if not value.isprintable() or not value.isascii() or not name.isascii() or not name.isprintable():
            raise InvalidInput("headers", f"{name!r} must be plain ASCII text on one line")
    return dict(headers)


def _take_arguments_of(push: Any, function: Callable[..., object]) -> None:
    """Jobs are checked as if this function, or this dataclass, were their handler."""
    described = inspect.signature(function).parameters.values()
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_ONLY, annotation=Context)
    push.__signature__ = inspect.Signature([context, *described])
    push.__annotations__ = {"ctx": Context, **typing.get_type_hints(function)}
