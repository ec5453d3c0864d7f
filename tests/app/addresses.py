"""The test's database as the addresses that other drivers read."""

from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict


def as_uri(url: str, driver: str = "") -> str:
    """A postgresql:// address, or postgresql+driver:// for SQLAlchemy."""
    parts = {name: quote(str(value), safe="") for name, value in conninfo_to_dict(url).items()}
    scheme = f"postgresql+{driver}" if driver else "postgresql"
    place = f"host={parts['host']}&port={parts['port']}"
    return f"{scheme}://{parts['user']}:{parts['password']}@/{parts['dbname']}?{place}"
