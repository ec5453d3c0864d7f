"""What can be reached over /rest/v1 is what the adapters have in the database, name by name."""

from penstock.server.rest.catalog import FUNCTIONS, VIEWS
from tests.kit.fixtures import Connect

_FUNCTION = """
select p.proargnames[:p.pronargs], array(select format_type(t, null) from unnest(p.proargtypes) as t),
       p.pronargdefaults, p.proretset, t.typtype = 'c'
  from pg_proc as p join pg_type as t on t.oid = p.prorettype
 where p.pronamespace = %s::regnamespace and p.proname = %s
"""
_COLUMNS = """
select attname, replace(format_type(atttypid, null), 'timestamp with time zone', 'timestamptz')
  from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum
"""


def test_functions_are_those_of_the_database(connect: Connect) -> None:
    connection = connect()
    for schema, functions in FUNCTIONS.items():
        for name, function in functions.items():
            # one: of two with the same name it would not be known which is meant
            [(names, types, defaults, is_set, is_row)] = connection.execute(_FUNCTION, [schema, name]).fetchall()
            names = names or []
            assert dict(zip(names, types, strict=True)) == function.arguments, name
            assert frozenset(names[: len(names) - defaults]) == function.required, name
            shape = {(True, True): "rows", (True, False): "values", (False, False): "value"}[is_set, is_row]
            assert function.shape == shape, name
            assert function.most.keys() <= function.arguments.keys()


def test_every_function_of_pgmq_public_can_be_called(connect: Connect) -> None:
    there = connect().execute("select distinct proname from pg_proc where pronamespace = 'pgmq_public'::regnamespace")
    assert {name for (name,) in there} == FUNCTIONS["pgmq_public"].keys()


def test_views_are_those_of_the_database(connect: Connect) -> None:
    connection = connect()
    for schema, views in VIEWS.items():
        for name, view in views.items():
            columns = connection.execute(_COLUMNS, [f"{schema}.{name}"]).fetchall()
            # in its order too, in which rows are shown
            assert columns == list(view.columns.items()), name
            assert view.insertable <= view.columns.keys()
