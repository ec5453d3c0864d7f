"""Databases' addresses: every usual spelling is taken, and none is shown with its password."""

import pytest

from penstock import InvalidInput, Penstock
from penstock.engine.postgres.address import read_address, shown_address
from penstock.engine.postgres.migrate import migrate

pytestmark = pytest.mark.needs_session("every spelling of an address is of one server, this one")

SECRET = "s3cret"


@pytest.mark.parametrize(
    "scheme",
    ["postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg", "postgresql+psycopg2", "postgres+asyncpg"],
)
def test_every_usual_spelling_is_taken(url: str, scheme: str) -> None:
    with Penstock(f"{scheme}://{url.partition('://')[2]}") as app:
        assert app.jobs.list().jobs == []
    migrate(f"{scheme}://{url.partition('://')[2]}")


def test_the_environment_s_address_is_read_in_the_same_way(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql+asyncpg://{url.partition('://')[2]}")
    with Penstock() as app:
        assert app.queues.list() == []


def test_asyncpg_s_ssl_is_libpq_s_sslmode() -> None:
    read = read_address("postgresql+asyncpg://u:p@h/d?ssl=require&connect_timeout=3")
    assert read == "postgresql://u:p@h/d?sslmode=require&connect_timeout=3"
    assert read_address("host=h dbname=d") == "host=h dbname=d"


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://u:{SECRET}@h/d",
        f"postgresql://u:{SECRET}@host@elsewhere/d",
        f"postgresql://u:a/{SECRET}@h/d",
        f"postgresql://u:{SECRET}@h:port/d",
        f"postgresql://u:{SECRET}@h/d?pool_size=3",
        f"password={SECRET} host",
        f"u:{SECRET}@h/d",
        f"postgresql://u:{SECRET}@[h/d",
        f"postgresql://u:4711/{SECRET}@h/d",
        f"postgresql+asyncpg://u:4711/{SECRET}@h:5432/d?ssl=require",
        f"postgresql://u:4711/a?{SECRET}=b@h/d",
    ],
)
def test_what_is_no_address_is_refused_without_being_shown(address: str) -> None:
    with Penstock(address) as app, pytest.raises(InvalidInput, match=r"^DATABASE_URL: ") as refused:
        app.jobs.list()
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_parameter_that_libpq_does_not_know_is_named() -> None:
    with pytest.raises(InvalidInput, match="pool_size"):
        read_address("postgresql://u:p@h/d?pool_size=3")


@pytest.mark.parametrize("address", ["postgresql://u:p@h/a%40b", "host=h dbname=a@b", "postgresql://u:p@h/d?user=u@t"])
def test_a_sign_of_an_address_may_be_written_where_it_means_nothing_else(address: str) -> None:
    assert read_address(address) == address


def test_people_see_which_database_it_is_and_no_more() -> None:
    assert shown_address(f"postgresql://u:{SECRET}@db.example.com:6432/shop") == "shop on db.example.com:6432"
    assert shown_address(f"user=u password={SECRET}") == "u on localhost:5432"


def test_nothing_about_an_application_shows_its_password() -> None:
    app = Penstock(f"postgresql://u:{SECRET}@127.0.0.1:1/d")
    for each in (app, app.database, app.database.pools, app.home, app.jobs, app.queues):
        assert SECRET not in repr(each)
    with pytest.raises(Exception, match="refused") as failed:
        app.jobs.list()
    assert SECRET not in repr(failed.getrepr(chain=True)) + str(failed.value)
    app.close()
