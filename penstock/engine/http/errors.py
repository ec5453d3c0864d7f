"""What can go wrong on the way to the API."""

from penstock.errors import PenstockError


class ApiUnreachable(PenstockError, ConnectionError):
    """The API gave no answer, or a fault of the server: whoever asked pauses and asks again."""


class KeyRefused(PenstockError, PermissionError):
    """The API does not take the service key."""


class NoDatabase(PenstockError):
    """Something needs a database connection where there is only the API."""


def no_database(what: str) -> NoDatabase:
    return NoDatabase(
        f"{what} needs a database connection, and this worker reaches the database only through the API; enqueue with "
        "ctx.enqueue(…), or run this handler on a worker with DATABASE_URL"
    )
