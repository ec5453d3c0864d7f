"""Run by test_project.py in a process of its own: migrates a project, enqueues tasks, has a worker run them."""

import signal
import subprocess
import sys

import django
from django.core.management import call_command
from django.db import connection

django.setup()

from penstock.interop.django import app  # noqa: E402
from penstock.interop.django.framework import AnyResult, TaskResultStatus  # noqa: E402
from tests.interop.django.shop import tasks  # noqa: E402
from tests.interop.django.shop.models import Order  # noqa: E402
from tests.kit.until import wait_until  # noqa: E402


def migrate() -> None:
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        # as a release before has left it
        cursor.execute("update penstock.schema_migrations set functions = 'older'")
        cursor.execute("drop function penstock.queue_overview")
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("select to_regproc('penstock.queue_overview') is not null")
        assert cursor.fetchone() == (True,)
    call_command("makemigrations", check_changes=True, dry_run=True)


def enqueue() -> dict[str, AnyResult]:
    # of a queue with one slot, so that all of them have the same thread
    return {
        "place": tasks.place_order.using(priority=50).enqueue("one"),
        "answer": tasks.answer.enqueue(),
        "raises": tasks.raises.enqueue(),
        "flaky": tasks.flaky.using(queue_name="default").enqueue(2),
        "count": tasks.count_orders.enqueue(),
        "broken": tasks.backend_pid.using(priority=40).enqueue(breaks=True),
        **{f"mended {n}": tasks.backend_pid.enqueue() for n in range(12)},
    }


def main() -> None:
    migrate()
    results = enqueue()
    command = [sys.executable, "-m", "django", "penstock_worker", "--queues", "default:1"]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:

        def ended() -> bool:
            for result in results.values():
                result.refresh()
            return all(result.is_finished for result in results.values())

        wait_until(ended, within=60)
        assert all(each.worker_ids[-1].endswith(f":{worker.pid}") for each in results.values())
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=60)
        assert worker.returncode == 0, log
    finally:
        worker.kill()
        worker.wait()
    assert {name for name, each in results.items() if each.status == TaskResultStatus.FAILED} == {"raises"}
    assert results["raises"].errors[0].exception_class is ValueError
    assert (results["answer"].return_value, results["flaky"].return_value) == (42, 2)
    assert (results["flaky"].attempts, results["count"].return_value) == (2, 1)
    # none got the connection that the first had left broken, and those of other threads were kept
    mended = {results[f"mended {n}"].return_value for n in range(12)}
    assert results["broken"].return_value not in mended
    assert len(mended) < 6
    assert "state=FAILED" in log  # the framework's own logging hears of it in the worker
    # a handler that runs here, for a while: its threads leave no connection behind
    before = connections()
    handler = app.handler("greet")
    handler.enqueue("two")
    handler.enqueue("three")
    assert [each.state for each in app.tick()] == ["succeeded", "succeeded"]
    assert Order.objects.count() == 3
    app.close()
    wait_until(lambda: connections() == before)


def connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """select count(*) from pg_stat_activity
                where datname = current_database() and backend_type = 'client backend'"""
        )
        [count] = cursor.fetchone()
    return int(count)


if __name__ == "__main__":
    main()
