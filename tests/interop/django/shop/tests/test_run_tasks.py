"""What run_tasks() makes of handlers that write, enqueue, and break the transaction they are in."""

from django.db import connection
from django.test import TestCase, TransactionTestCase

from penstock.interop.django import app
from penstock.interop.django.testing import run_tasks
from penstock.job import JobState
from tests.interop.django.shop import tasks
from tests.interop.django.shop.models import Order

NAMES = [f"customer {n}" for n in range(30)]


def orders() -> list[str]:
    return list(Order.objects.order_by("name").values_list("name", flat=True))


class WhatCompletesAJob:
    def test_what_a_handler_writes_and_enqueues_is_there_with_its_completion(self) -> None:
        for names in (["ada"], NAMES):
            Order.objects.all().delete()
            app.enqueue(tasks.order_and_greet.prepare(names), connection=connection)
            first, *others = run_tasks()
            assert (first.state, first.output, first.last_error) == (JobState.SUCCEEDED, "ordered", None)
            assert [job.kind for job in others] == ["greet"] * len(names)
            assert orders() == sorted(2 * names)

    def test_so_it_is_in_async_handlers(self) -> None:
        app.enqueue(tasks.greet_all.prepare(NAMES), connection=connection)
        assert len(run_tasks()) == 31
        assert orders() == sorted(NAMES)

    def test_of_one_that_fails_nothing_is(self) -> None:
        Order.objects.create(name="before")
        app.enqueue(tasks.order_and_greet.using(max_attempts=1).prepare(["ada"], fails=True), connection=connection)
        [job] = run_tasks()
        assert (job.state, job.errors[0]["type"]) == (JobState.FAILED, "LookupError")
        assert orders() == ["before"]

    def test_an_async_handler_is_told_that_there_is_no_connection_for_it(self) -> None:
        app.enqueue(tasks.order.using(max_attempts=1).prepare(), connection=connection)
        [job] = run_tasks()
        assert "drain(app)" in (job.last_error or ""), job.last_error


class InATestCase(WhatCompletesAJob, TestCase):
    def test_an_error_of_the_database_is_the_tasks_alone(self) -> None:
        Order.objects.create(name="before")
        broken, caught, whole = (
            each.enqueue()
            for each in (tasks.divides_by_zero, tasks.divides_by_zero.using(priority=-1), tasks.divides_in_a_savepoint)
        )
        with self.assertLogs(level="ERROR"):
            self.assertEqual(len(run_tasks()), 3)
        del caught
        broken.refresh()
        self.assertEqual(broken.errors[0].exception_class_path, "django.db.utils.DataError")
        whole.refresh()
        self.assertEqual(whole.status, "SUCCESSFUL")
        self.assertEqual(orders(), ["before", "whole"])

    def test_one_that_is_caught_outside_of_atomic_fails_the_task(self) -> None:
        """As the next query of a test would: nothing that it wrote is there."""
        result = tasks.divides_by_zero.enqueue(catches=True)
        with self.assertLogs(level="ERROR"):
            run_tasks()
        result.refresh()
        self.assertIn("atomic()", result.errors[0].traceback)
        self.assertEqual(orders(), [])


class WithoutATransaction(WhatCompletesAJob, TransactionTestCase):
    def tearDown(self) -> None:
        app.close()  # before its database is dropped

    def test_an_error_of_the_database_undoes_its_statement_as_in_a_worker(self) -> None:
        result = tasks.divides_by_zero.enqueue(catches=True)
        run_tasks()
        result.refresh()
        self.assertEqual(result.status, "SUCCESSFUL")
        self.assertEqual(orders(), ["half"])
