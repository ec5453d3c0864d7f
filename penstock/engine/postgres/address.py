"""A database's address: as its users spell it, and without its password."""

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

from penstock.errors import InvalidInput

_SPELLINGS = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_SPELT = (
    "is no address of a Postgres: write it as postgresql://user:password@host:5432/name, with %40 for an @, %2F for a "
    "/ and %3A for a : in the password"
)


def read_address(url: str) -> str:
    """As libpq takes it: also from SQLAlchemy's spelling, postgresql+asyncpg://….

    What is wrong is said without the address itself, which has a password in it.
    """
    plain = url.strip()
    if found := _SPELLINGS.match(plain):
        plain = f"postgresql://{plain[found.end() :]}"
        # asyncpg's word for it
        plain = re.sub(r"([?&])ssl=", r"\1sslmode=", plain)
    elif "://" in plain or "=" not in plain:
        raise InvalidInput("DATABASE_URL", _SPELT)
    # a / in the password ends the host for libpq: what follows it, the rest of the password too, names the database
    behind_host = plain.partition("://")[2].partition("/")[2]
    if "@" in behind_host.partition("?")[0]:
        raise InvalidInput("DATABASE_URL", _SPELT)
    try:
        about = conninfo_to_dict(plain)
    except psycopg.ProgrammingError as error:
        told = "" if "@" in behind_host else str(error)
        unknown = re.search(r'invalid (?:URI query parameter|connection option) ?:? "(\w+)"', told)
        why = f"has a parameter that libpq does not know: {unknown[1]}" if unknown else _SPELT
        raise InvalidInput("DATABASE_URL", why) from None
    hosts, ports = str(about.get("host") or ""), str(about.get("port") or "")
    if "@" in hosts or not re.fullmatch(r"[\d,]*", ports):
        raise InvalidInput("DATABASE_URL", _SPELT)
    return plain


def shown_address(url: str) -> str:
    """Which database it is, for people: no password, no user."""
    about = conninfo_to_dict(url)
    place = f"{about.get('host') or 'localhost'}:{about.get('port') or 5432}"
    return f"{about.get('dbname') or about.get('user')} on {place}"
