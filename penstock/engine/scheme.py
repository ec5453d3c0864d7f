"""Which engine an address is of, before any driver is loaded."""

REDIS = ("redis", "rediss", "redis+cluster", "rediss+cluster")


def is_redis(url: str | None) -> bool:
    return url is not None and url.partition("://")[0].lower() in REDIS
