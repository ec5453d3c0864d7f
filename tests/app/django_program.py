"""Run by test_django.py in a process of its own, because Django's settings belong to the whole process."""

import sys
from collections.abc import Callable

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from penstock import Penstock

url = sys.argv[1]
parts = conninfo_to_dict(url)
settings.configure(
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts["dbname"],
            "USER": parts["user"],
            "PASSWORD": parts["password"],
            "HOST": parts["host"],
            "PORT": parts["port"],
        },
        "lite": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    },
)
django.setup()

from django.db import connection, connections, transaction  # noqa: E402

app = Penstock(url)


@app.job
def send(to: str) -> None: ...


class Undo(Exception):
    pass


def count() -> int:
    """As another connection sees it."""
    return sum(queue.ready for queue in app.queues.list())


def attempt(act: Callable[[], object]) -> None:
    try:
        with transaction.atomic():
            act()
            raise Undo
    except Undo:
        pass


def main() -> None:
    on_it = send.using(connection=connection)
    on_it.enqueue("in autocommit mode")
    assert count() == 1

    with transaction.atomic():
        on_it.enqueue("commits")
        on_it.enqueue_many([{"to": str(n)} for n in range(30)])
        assert count() == 1
        attempt(lambda: on_it.enqueue("inner goes"))
    assert count() == 32

    attempt(lambda: on_it.enqueue("goes"))
    attempt(lambda: on_it.enqueue_many([{"to": "goes"}] * 2_000))
    assert count() == 32

    with transaction.atomic():
        handle = send.using(connection=connections["default"], unique=True).enqueue("by its alias")
    again = on_it.using(unique=True).enqueue("by its alias")
    assert (again.created, again.id) == (False, handle.id)
    assert count() == 33

    try:
        send.using(connection=connections["lite"]).enqueue("x")
    except TypeError as error:
        print(error)
    connections.close_all()
    app.close()


main()
