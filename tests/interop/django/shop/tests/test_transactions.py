"""When a task is enqueued: with the data, after it, or at once."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase

from penstock.interop.django import app
from penstock.interop.django.framework import TaskResultDoesNotExist, TaskResultStatus, task_backends
from penstock.interop.django.testing import run_tasks
from tests.interop.django.shop import tasks
from tests.interop.django.shop.models import Order


class Undo(Exception):
    pass


def undo() -> None:
    raise Undo


class InATransaction(TransactionTestCase):
    databases = {"default", "direct", "lite"}

    def tearDown(self) -> None:
        run_tasks()
        app.close()  # before its database is dropped

    def seen_elsewhere(self, id: str) -> bool:
        """By another connection, as a worker's."""

        def look() -> bool:
            try:
                task_backends["default"].get_result(id)
                return True
            except TaskResultDoesNotExist:
                return False
            finally:
                connection.close()

        return bool(in_thread(look))

    def place(self, task: Any, *, fails: bool) -> Any:
        try:
            with transaction.atomic():
                Order.objects.create(name="one")
                result = task.enqueue()
                self.assertFalse(self.seen_elsewhere(result.id))
                if fails:
                    raise Undo
        except Undo:
            pass
        return result

    def test_a_task_is_committed_with_the_data_or_not_at_all(self) -> None:
        kept = self.place(tasks.noop, fails=False)
        self.assertTrue(self.seen_elsewhere(kept.id))
        gone = self.place(tasks.noop, fails=True)
        self.assertFalse(self.seen_elsewhere(gone.id))
        self.assertEqual(Order.objects.count(), 1)

    def test_a_savepoint_that_is_rolled_back_takes_it_along(self) -> None:
        with transaction.atomic():
            kept = tasks.noop.enqueue()
            gone = self.place(tasks.noop, fails=True)
            self.assertEqual(kept.task.get_result(kept.id).status, TaskResultStatus.READY)
        self.assertTrue(self.seen_elsewhere(kept.id))
        self.assertFalse(self.seen_elsewhere(gone.id))

    def test_without_a_transaction_it_is_there_at_once(self) -> None:
        self.assertTrue(self.seen_elsewhere(tasks.noop.enqueue().id))

    def test_another_alias_of_the_same_database_is_in_its_own_transaction(self) -> None:
        self.assertEqual(task_backends["mirrored"].when, "transaction")
        with self.assertRaises(Undo), transaction.atomic(using="direct"):
            result = tasks.noop.using(backend="mirrored").enqueue()
            undo()
        self.assertFalse(self.seen_elsewhere(result.id))

    def test_after_the_commit_of_another_database(self) -> None:
        self.assertEqual(task_backends["lite"].when, "on_commit")
        with transaction.atomic(using="lite"):
            result = tasks.noop.using(backend="lite").enqueue()
            self.assertIsNone(result.enqueued_at)
            self.assertFalse(self.seen_elsewhere(result.id))
        self.assertIsNotNone(result.enqueued_at)
        self.assertTrue(self.seen_elsewhere(result.id))
        with self.assertRaises(Undo), transaction.atomic(using="lite"):
            result = tasks.noop.using(backend="lite").enqueue()
            undo()
        self.assertFalse(self.seen_elsewhere(result.id))

    def test_after_the_commit_by_choice(self) -> None:
        with transaction.atomic():
            result = tasks.noop.using(backend="on_commit").enqueue()
            with self.assertRaises(TaskResultDoesNotExist):
                result.refresh()
        result.refresh()
        self.assertEqual(result.status, TaskResultStatus.READY)

    def test_at_once_by_choice_whatever_becomes_of_the_transaction(self) -> None:
        with self.assertRaises(Undo), transaction.atomic():
            result = tasks.noop.using(backend="now").enqueue()
            self.assertTrue(self.seen_elsewhere(result.id))
            undo()
        self.assertTrue(self.seen_elsewhere(result.id))

    def test_a_broken_transaction_takes_no_task(self) -> None:
        with transaction.atomic():
            transaction.set_rollback(True)
            with self.assertRaises(transaction.TransactionManagementError):
                tasks.noop.enqueue()


class HandlersThatWait(TestCase):
    def test_they_go_on_in_the_tests_own_transaction(self) -> None:
        for number, handler in enumerate((tasks.collect, tasks.collect_in_thread)):
            handle = app.enqueue(handler.prepare(number), connection=connection)
            app.emit("paid", key=str(number), payload="by card", connection=connection)
            [job] = [job for job in run_tasks() if job.id == handle.id and job.state.final]
            self.assertEqual((job.last_error, job.state), (None, "succeeded"))
            first, greeting, paid = job.output
            self.assertEqual((first, paid), (str(number), "by card"))
            self.assertIn("hello Ada", greeting)
            self.assertEqual(Order.objects.filter(name="Ada").count(), number + 1)


class TheTestRunner(TestCase):
    def test_the_applications_own_connections_go_to_the_database_of_the_tests(self) -> None:
        name = str(connection.settings_dict["NAME"])
        self.assertTrue(name.startswith("test_"))
        self.assertIn(name, app.url())
        with app.database.pools.sync().connection() as own:
            self.assertEqual(own.info.dbname, name)
        connection.settings_dict["NAME"] = "elsewhere"
        try:
            self.assertIn("dbname=elsewhere", app.url())
            with self.assertRaises(Exception) as raised, app.database.pools.sync().connection():
                pass
            self.assertIn("elsewhere", str(raised.exception))
        finally:
            connection.settings_dict["NAME"] = name
            app.close()


def in_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]
