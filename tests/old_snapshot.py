"""Somebody's transaction that stays open: a long dump, a psql that was forgotten."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

NAME = "forgotten"


@contextmanager
def old_snapshot(url: str, *, writing: bool = False) -> Iterator[None]:
    """No vacuum may remove what was updated or deleted since it began. With `writing` it has changed something, too: it
    has a number, and is among the transactions whose commit may be yet to come."""
    with psycopg.connect(url, application_name=NAME) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from penstock.jobs")
        if writing:
            reader.execute("create table public.elsewhere (forgotten int)")
        yield
        reader.rollback()
