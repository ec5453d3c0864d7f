"""Where Redis is, by its URL: one server, or any node of a cluster."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from penstock.engine.scheme import REDIS
from penstock.errors import InvalidInput

PREFIX = "bull"
"""Of every key, unless the URL says ?prefix=…: BullMQ's own."""


@dataclass(frozen=True, slots=True)
class Address:
    """`url` is as redis-py reads it."""

    url: str = field(repr=False)
    cluster: bool
    prefix: str

    @classmethod
    def of(cls, url: str) -> "Address":
        try:
            parts = urlsplit(url)
            odd = parts.port == 0 or parts.fragment or "@" in parts.path + parts.query
        except ValueError:
            odd = True
        if odd:
            # no word of what was read: it may be a piece of the password
            raise InvalidInput(
                "url",
                "has a sign in the user or password that means something else there: write # as %23, / as %2F, ? as "
                "%3F, [ as %5B, : as %3A and @ as %40; or its port is no number up to 65535",
            )
        if parts.scheme not in REDIS or not parts.hostname:
            raise InvalidInput("url", "write it as redis://host:6379/0, rediss://… or redis+cluster://host:6379")
        query = dict(parse_qsl(parts.query))
        prefix = query.pop("prefix", PREFIX)
        if not prefix or ":" in prefix:
            raise InvalidInput("url", f"prefix={prefix}: must not be empty or have a colon")
        scheme, _, cluster = parts.scheme.partition("+")
        if cluster and parts.path.strip("/0"):
            raise InvalidInput("url", f"a cluster has no database {parts.path.strip('/')!r}")
        plain = urlunsplit((scheme, parts.netloc, parts.path, urlencode(query), ""))
        return cls(plain, bool(cluster), prefix)

    @property
    def tls(self) -> bool:
        return self.url.startswith("rediss:")

    @property
    def shown(self) -> str:
        """For people: no user, no password."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{'cluster at ' if self.cluster else ''}{parts.hostname}{port}{parts.path}"
