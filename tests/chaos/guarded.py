"""As a careful operator has it: workers, producers and the API log in as somebody who owns nothing, users act under row
level security, and all of them go through PgBouncer, which gives each transaction another session.

PgBouncer stands before the wire that is cut, so that it is the one who loses its server.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psycopg import sql
from psycopg.conninfo import make_conninfo

from penstock.server.auth import mint
from tests.chaos.server import Reached
from tests.kit.pooler import pgbouncer_for
from tests.kit.serving import SECRET

WHO = ("worker", "producer", "api")
SESSIONS = 20
AS_A_USER = {"Authorization": f"Bearer {mint(SECRET, 'ada', 'adas', seconds=86_400)}"}

# who has lost the server asks again soon; PgBouncer's own 15 seconds are longer than anybody here may be away
SETTINGS = "server_login_retry = 1"

_RIGHTS = """
    grant usage on schema chaos to service_role;
    grant select, insert on all tables in schema chaos to service_role;
"""


@contextmanager
def guarded(server: Reached, url: str) -> Iterator[Mapping[str, str]]:
    """Addresses for each of those who connect."""
    logins = {f"chaos_{who}": f"password of the {who}" for who in WHO}
    with server.connect() as connection:
        connection.execute(_RIGHTS)
        for login, password in logins.items():
            name = sql.Identifier(login)
            connection.execute(
                sql.SQL("create role {} login inherit password {} in role service_role").format(name, password)
            )
        connection.execute("grant anon, authenticated, service_role to chaos_api")
    with pgbouncer_for(url, SESSIONS, logins, SETTINGS) as bounced:
        yield {who: bounced(make_conninfo(url, user=f"chaos_{who}")) for who in WHO}


@contextmanager
def open_to_all(url: str) -> Iterator[Mapping[str, str]]:
    yield dict.fromkeys(WHO, url)
