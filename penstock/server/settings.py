"""What an operator may set about the server, by keyword or by environment."""

import os
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.errors import InvalidInput
from penstock.server.jobs.compose import MAX_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Each has an environment variable: PENSTOCK_ and its name in capitals.

    ```python
    api = app.asgi(service_key="at least 16 characters", public_url="https://jobs.example.com", link_seconds=600)
    ```
    """

    service_key: str | None = field(default=None, repr=False)
    """Whoever shows it acts as the service: workers over HTTP, cron, your own back end. 16 characters at least."""
    jwt_secret: str | None = field(default=None, repr=False)
    """HS256 secret of your users' tokens, as Supabase's "JWT secret". 32 characters at least."""
    jwks_url: str | None = None
    """Where the public keys of your users' tokens are, as Supabase's /auth/v1/.well-known/jwks.json."""
    jwt_audience: str = "authenticated"
    """What a token's `aud` must contain."""
    jwt_issuer: str | None = None
    """What a token's `iss` must be; not checked without it."""
    signing_secret: str | None = field(default=None, repr=False)
    """Signs links to artifacts in a local folder, 16 characters at least. Without one it is derived from the service
    key."""
    public_url: str | None = None
    """The server's address as its callers see it: links and `Location` begin with it. Without one they begin as the
    request did: with its `Host`, and where the API is mounted."""
    trusted_proxies: str = "127.0.0.1,::1"
    """Addresses and networks whose X-Forwarded-Proto, -Host and -Prefix are believed; * for all."""
    members_delete: bool = False
    """Whether members of an organisation may delete files that another member owns and shares with it."""
    database_timeout: float = 2.0
    """Seconds after which a request is answered with 503 and `Retry-After` when the database cannot be reached, or
    answers nobody. `/readyz` takes one at most."""
    max_headers: int = 100
    """Headers of a request: 431 beyond."""
    max_header_bytes: int = 32_768
    """Of a request's first line and its headers together: 431 beyond."""
    header_timeout: float = 10.0
    """Seconds that a request's headers may take."""
    idle_timeout: float = 5.0
    """Seconds that a connection stays open without a request. Remote workers use theirs again within four."""
    write_timeout: float = 30.0
    """Seconds that a client may read nothing of what it was sent, streams included. Its connection is ended then."""
    max_connections: int = 10_000
    """Connections at once, streams included: 503 beyond. The server asks the system for as many open files."""
    max_jobs: int = MAX_JOBS
    """Jobs that one start may create: of a flow, what it composes. One that composes more is refused with 422."""
    max_body: int = 1_048_576
    """Bytes of a request's body; what remote workers say, and uploads of artifacts, have limits of their own."""
    max_work_body: int = 67_108_864
    """Bytes that a remote worker says at once: results, and the jobs that a handler calls or enqueues."""
    max_upload: int = 1_073_741_824
    """Bytes of a file: an artifact that a remote worker sends, an upload to a route of your own."""
    body_timeout: float = 20.0
    """Seconds that a request's body may be late. After them it must come at 10 KB/s on average."""
    link_seconds: int = 3600
    """How long a signed link works."""
    stream_seconds: float = 3600.0
    """How long a stream of progress stays open before its `timeout` event tells the client to come back."""
    keep_alive: float = 15.0
    """Seconds between comments on a silent stream."""
    cors_origins: str = ""
    """Origins whose pages may call the API from a browser, with commas between them: https://shop.example.com."""
    docs: bool = True
    """Whether `/docs` and `/openapi.json` are answered."""
    dashboard: bool = True
    """Whether there are pages for people at /."""
    replica_url: str | None = field(default=None, repr=False)
    """A replica of the database, from which pages of the dashboard are read while it is at most five seconds behind."""
    dashboard_role_claim: str = "app_metadata.penstock_role"
    """The claim of a user's token that lets them sign in to the dashboard: `operator` or `viewer`. Dots lead into
    objects. It must be one that users cannot write themselves."""
    dashboard_seconds: int = 43_200
    """How long somebody stays signed in to the dashboard; not longer than their token is valid."""

    @classmethod
    def from_environment(cls, **given: Any) -> "ServerSettings":
        """Keywords first, then the environment, then defaults."""
        read: dict[str, Any] = {}
        for each in fields(cls):
            text = os.environ.get(f"PENSTOCK_{each.name.upper()}")
            if text is not None:
                read[each.name] = _parse(each.name, each.type, text)
        return cls(**(read | {name: value for name, value in given.items() if value is not None}))


def _parse(name: str, kind: object, text: str) -> object:
    try:
        if kind is bool:
            return _WORDS[text.lower()]
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except (KeyError, ValueError):
        wanted = "true or false" if kind is bool else "a number"
        raise InvalidInput(f"PENSTOCK_{name.upper()}", f"must be {wanted}, not {text!r}") from None
    return text


_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
