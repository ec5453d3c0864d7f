"""What may be large is compressed by lz4 where the server has it; without it, arguments are not compressed at all."""

import psycopg

from penstock.engine.postgres.migrate import migrate
from penstock.testing.database import throw_away


def test_large_columns_are_compressed_by_lz4_where_the_server_has_it(each_version: str) -> None:
    with throw_away(each_version) as url:
        migrate(url)
        with psycopg.connect(url) as connection:
            rows = connection.execute(
                r"""select regexp_replace(c.relname, '_(\d+|strays)$', ''), a.attname, a.attcompression::text,
                           a.attstorage::text, count(*)
                      from pg_attribute as a join pg_class as c on c.oid = a.attrelid
                     where c.relnamespace = 'penstock'::regnamespace and c.relkind in ('r', 'p')
                       and (a.attcompression <> '' or a.attstorage = 'e')
                     group by 1, 2, 3, 4 order by 1"""
            ).fetchall()
            has_lz4 = "select enumvals @> '{lz4}' from pg_settings where name = 'default_toast_compression'"
            known = connection.execute(has_lz4).fetchone() == (True,)
    # each: the table, its strays, and the partitions of four days
    columns = [("errors", "error", "l", "x", 6), ("history", "output", "l", "x", 6), ("payloads", "args", "l", "x", 6)]
    assert rows == (columns if known else [("payloads", "args", "", "e", 6)])
