"""By direct SQL as another user, and as nobody: no function reveals what is another's, or changes it.

Functions are read from the catalogue, so that what is added later is tried by itself.
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.neighbours import ALICE, World, acting, assert_refused, changed, claims_of, rows_of, settle_in

pytestmark = pytest.mark.needs_session("search_path is an option of the session")

Connection = psycopg.Connection[Any]
anybody = pytest.mark.parametrize(
    ("role", "claims"),
    [("authenticated", claims_of(ALICE)), ("anon", '{"role": "anon"}')],
    ids=["a user", "nobody"],
)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FUNCTIONS = """
select p.proname, p.oid::regprocedure::text, array(select format_type(t, null) from unnest(p.proargtypes) as t)::text[],
       p.prorettype = 'trigger'::regtype, p.oid
  from pg_proc as p where p.pronamespace = 'penstock'::regnamespace order by 2
"""


@pytest.fixture
def world(url: str) -> World:
    return settle_in(url)


@pytest.fixture
def connection(world: World) -> Iterator[Connection]:
    # names come with their schema, whatever the login is called
    with psycopg.connect(world.url, autocommit=True, options="-c search_path=") as connection:
        yield connection


@anybody
def test_no_function_reveals_or_changes_what_is_another_s(
    connection: Connection, world: World, role: str, claims: str
) -> None:
    before = rows_of(connection)
    tried = 0
    for name, signature, types, is_trigger, oid in connection.execute(_FUNCTIONS).fetchall():
        allowed = connection.execute(
            "select has_schema_privilege(%s, 'penstock', 'usage') and has_function_privilege(%s, %s::oid, 'execute')",
            [role, role, oid],
        ).fetchone()
        if is_trigger:
            continue
        if allowed == (False,):
            nulls = ", ".join(f"null::{type}" for type in types)
            with acting(connection, role, claims):
                assert_refused(connection, f"select penstock.{name}({nulls})")
            continue
        for arguments in _arguments(types, world):
            tried += 1
            about_bob = _answer(connection, before, role, claims, signature, arguments)
            about_nobody = _answer(connection, before, role, claims, signature, _of_nobody(arguments, world))
            given = str([getattr(each, "obj", each) for each in arguments])
            told = [text for text in world.texts if text in about_bob and text not in given]
            assert not told, f"{signature} with {given} tells {about_bob}"
            assert _masked(about_bob) == _masked(about_nobody), f"{signature} with {given}"
    assert tried > 50 or role == "anon"


def _arguments(types: list[str], world: World) -> Iterator[list[object]]:
    """Bob's ids and names in each argument in turn, beside those that are most likely to get somewhere."""
    choices = [_choices(type, world) for type in types]
    if len(types) <= 2:
        yield from (list(each) for each in product(*choices))
        return
    for place, values in enumerate(choices):
        for value in values:
            yield [value if at == place else others[0] for at, others in enumerate(choices)]


def _choices(type: str, world: World) -> list[object]:
    ids: list[object] = list(world.bobs.values())
    objects: list[object] = [
        {"owner": "bob"}, {"org": "bobs"}, {"of": "bob"}, {"ids": [str(id) for id in world.bobs.values()]},
        {"parent": str(world.bobs["batch"])}, {"args": {"of": "bob"}}, {"owner": ["bob", "alice"]}, {"kind": "export"},
        {"state": ["failed", "running"]}, {"unique_key": "bob::::{}"}, {}, "bob", [{"kind": "once", "args": {}}],
        [{"kind": "export", "args": {"of": "bob"}}, {"kind": "once"}], [{"kind": "internal"}],
        [{"kind": "export", "owner": "bob", "parent": str(world.bobs["batch"]), "id": str(world.bobs["ready"])}],
    ]  # fmt: skip
    known: dict[str, list[object]] = {
        "uuid": ids,
        "uuid[]": [ids],
        "text": ["export", "once", "internal", "bob", "bobs", "bobs key", "bobs batch", None],
        "text[]": [["bob", "bobs"]],
        "jsonb": [Jsonb(each) for each in objects],
        "boolean": [True, False],
        "integer": [50],
        "bigint": [1],
        "timestamp with time zone": ["2020-01-01", "infinity"],
    }
    return [None, *known[type]] if type == "text" else known.get(type, [None])


def _of_nobody(arguments: list[object], world: World) -> list[object]:
    """The same, with ids and names that nobody has."""

    def replaced(value: object) -> object:
        if isinstance(value, UUID):
            return uuid4()
        if isinstance(value, Jsonb):
            return Jsonb(replaced(value.obj))
        if isinstance(value, dict):
            return {key: replaced(each) for key, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if isinstance(value, str) and _UUID.fullmatch(value):
            return str(uuid4())
        return value.replace("bob", "nob") if isinstance(value, str) else value

    return [replaced(each) for each in arguments]


def _answer(
    connection: Connection, before: dict[str, int], role: str, claims: str, signature: str, arguments: list[object]
) -> str:
    with acting(connection, role, claims):
        try:
            with connection.transaction():
                told = repr(_call(connection, signature, arguments))
        except psycopg.Error as error:
            told = f"{error.sqlstate}: {error}"
        connection.execute("reset role")
        # what has no number has written nothing, and most have not: to read every row takes 20 ms
        if connection.execute("select pg_current_xact_id_if_assigned()").fetchone() != (None,):
            assert not changed(before, rows_of(connection)), f"{signature} with {arguments}"
    return told


def _masked(answer: str) -> str:
    return re.sub(r"UUID\('<id>'\)", "<id>", _UUID.sub("<id>", answer)).replace("bob", "nob")


def _call(connection: Connection, signature: str, arguments: list[object]) -> list[Any]:
    """By place, each with the type it is declared with."""
    name, _, types = signature.rstrip(")").partition("(")
    casts = [f"%s::{type}" for type in types.split(",")] if types else []
    return connection.execute(f"select * from {name}({', '.join(casts)})".encode(), arguments).fetchall()
