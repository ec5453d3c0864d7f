"""What the framework asks of a backend: Django has the same of its own backends."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest import mock

import django
from asgiref.sync import async_to_sync
from django.core.checks import run_checks
from django.test import SimpleTestCase, TestCase
from django.utils import timezone

from penstock.interop.django import ImmediateBackend, PenstockBackend, PenstockTask, app
from penstock.interop.django.application import DjangoPenstock
from penstock.interop.django.framework import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from penstock.interop.django.settings import read_settings
from penstock.interop.django.task_handler import add_handler
from penstock.interop.django.testing import run_tasks
from tests.interop.django.shop import tasks

if django.VERSION >= (6, 0):
    from django.tasks import default_task_backend, task
    from django.tasks.exceptions import TaskResultMismatch

    LOGGER = "django.tasks"
else:
    from django_tasks import default_task_backend, task
    from django_tasks.exceptions import TaskResultMismatch

    LOGGER = "django_tasks"


class TheBackend(SimpleTestCase):
    def test_is_the_one_that_settings_name(self) -> None:
        self.assertIsInstance(task_backends["default"], PenstockBackend)
        self.assertEqual((default_task_backend.alias, default_task_backend.options), ("default", {}))

    def test_says_what_it_can_do(self) -> None:
        backend = task_backends["default"]
        for name in ("supports_defer", "supports_async_task", "supports_get_result", "supports_priority"):
            self.assertIs(getattr(backend, name), True, name)

    def test_tasks_of_it_are_its_own(self) -> None:
        for each in (tasks.noop, tasks.bare, tasks.noop_async, tasks.flaky):
            self.assertIsInstance(each, PenstockTask)
        self.assertEqual(tasks.answer.call(), 42)
        self.assertEqual((tasks.answer.name, tasks.answer.module_path), ("answer", f"{tasks.__name__}.answer"))

    def test_refuses_what_no_worker_could_run(self) -> None:
        with self.assertRaisesMessage(InvalidTask, "module level"):
            task()(lambda: None)
        with self.assertRaisesMessage(InvalidTask, "priority must be a whole number between -100 and 100"):
            tasks.noop.using(priority=101)
        with self.assertRaisesMessage(InvalidTask, "Queue 'unknown' is not valid for backend"):
            tasks.noop.using(queue_name="unknown")
        with self.assertRaisesMessage(InvalidTask, "run_after must be an aware datetime"):
            tasks.noop.using(run_after=timezone.datetime(2030, 1, 1))
        with self.assertRaisesMessage(InvalidTask, "does not have a first argument of 'context'"):
            task(takes_context=True)(tasks.answer.func)
        with self.assertRaises(TypeError):
            tasks.noop.using(unknown=1)

    def test_two_requests_may_be_the_first_to_enqueue_a_task(self) -> None:
        fresh = DjangoPenstock(read_settings())
        barrier = threading.Barrier(8)

        def add(_: int) -> object:
            barrier.wait()
            return add_handler(fresh, tasks.noop)

        with ThreadPoolExecutor(8) as threads:
            self.assertEqual(len(set(threads.map(add, range(8)))), 1)

    def test_passes_the_checks(self) -> None:
        self.assertEqual([each for each in run_checks() if "penstock" in str(each.id)], [])


class Enqueueing(TestCase):
    def test_gives_a_result_that_waits(self) -> None:
        for each in (tasks.noop, tasks.noop_async):
            with self.subTest(each):
                result = each.enqueue(1, two=3)
                self.assertEqual((result.status, result.is_finished), (TaskResultStatus.READY, False))
                self.assertIsNotNone(result.enqueued_at)
                self.assertEqual((result.started_at, result.last_attempted_at, result.finished_at), (None, None, None))
                with self.assertRaisesMessage(ValueError, "Task has not finished yet"):
                    _ = result.return_value
                self.assertEqual(result.task, each)
                self.assertEqual((result.args, result.kwargs), ([1], {"two": 3}))
                self.assertEqual((result.attempts, result.errors, result.worker_ids), (0, [], []))

    async def test_does_so_in_async_code(self) -> None:
        result = await tasks.noop_async.aenqueue(1)
        self.assertEqual((result.status, result.args), (TaskResultStatus.READY, [1]))
        self.assertEqual(await tasks.noop_async.aget_result(result.id), result)
        await result.arefresh()
        self.assertEqual(result.status, TaskResultStatus.READY)

    def test_the_same_result_is_found_by_its_id(self) -> None:
        later = timezone.now() + timedelta(hours=1)
        changed = tasks.noop.using(priority=7, queue_name="queue_1", run_after=later)
        for each in (tasks.noop, changed):
            result = each.enqueue({"deep": [1, None]}, b="é")
            self.assertEqual(each.get_result(result.id), result)
            self.assertEqual(default_task_backend.get_result(result.id).task, each)

    def test_no_result_is_an_error(self) -> None:
        [handled] = app.on("default").enqueue([app.prepare("greet", {"name": "ada"})])
        for id in ("123", "00000000-0000-0000-0000-000000000000", str(handled.id)):
            with self.assertRaisesMessage(TaskResultDoesNotExist, id):
                default_task_backend.get_result(id)
            with self.assertRaisesMessage(TaskResultDoesNotExist, id):
                async_to_sync(tasks.noop.aget_result)(id)

    def test_anothers_result_is_an_error(self) -> None:
        result = tasks.noop_async.enqueue()
        with self.assertRaisesMessage(TaskResultMismatch, "Task does not match"):
            tasks.noop.get_result(result.id)

    def test_refuses_what_is_no_json_and_changes_nothing(self) -> None:
        with self.assertRaises(TypeError):
            tasks.noop.enqueue(object())
        self.assertEqual(run_tasks(), [])

    def test_is_validated_again(self) -> None:
        with mock.patch.object(task_backends["default"], "queues", {"other"}), self.assertRaises(InvalidTask):
            tasks.noop.enqueue()

    def test_is_told_and_logged(self) -> None:
        with told(task_enqueued) as heard, self.assertLogs(LOGGER, level="DEBUG") as logs:
            result = tasks.noop.enqueue()
        self.assertEqual([(each["sender"], each["task_result"]) for each in heard], [(PenstockBackend, result)])
        self.assertEqual(len(logs.output), 1)
        self.assertIn(f"id={result.id} path={tasks.__name__}.noop enqueued backend=default", logs.output[0])

    def test_a_unique_task_stands_for_the_next(self) -> None:
        first, second = tasks.snoozing.enqueue(), tasks.snoozing.enqueue()
        self.assertEqual(first.id, second.id)


class Running(TestCase):
    def run_one(self, task: Any, *args: Any, **kwargs: Any) -> Any:
        result = task.enqueue(*args, **kwargs)
        run_tasks()
        result.refresh()
        return result

    def test_ends_with_a_result(self) -> None:
        for each, returned in ((tasks.noop, None), (tasks.noop_async, None), (tasks.answer, 42)):
            with self.subTest(each):
                result = self.run_one(each)
                self.assertEqual((result.status, result.is_finished), (TaskResultStatus.SUCCESSFUL, True))
                self.assertEqual((result.return_value, result.attempts, result.errors), (returned, 1, []))
                self.assertLessEqual(result.enqueued_at, result.started_at)
                self.assertLessEqual(result.started_at, result.finished_at)
                self.assertEqual(result.last_attempted_at, result.started_at)
                self.assertRegex(result.worker_ids[0], r"^lease \d+$")  # of a worker that has left

    def test_what_it_raises_is_kept(self) -> None:
        expected = (
            (tasks.raises, ValueError, "ValueError: it was wrong\nin two ways\n"),
            (tasks.raises_own, tasks.Broken, "tasks.Broken: Broken: no\n"),
            (tasks.leaves, SystemExit, "SystemExit: it leaves\n"),
        )
        for each, kind, said in expected:
            with self.subTest(each), self.assertLogs(LOGGER, level="ERROR") as logs:
                result = self.run_one(each)
                self.assertEqual(result.status, TaskResultStatus.FAILED)
                with self.assertRaisesMessage(ValueError, "Task failed"):
                    _ = result.return_value
                [error] = result.errors
                self.assertIs(error.exception_class, kind)
                self.assertTrue(error.traceback.endswith(said), error.traceback)
                self.assertEqual((result.attempts, len(logs.output)), (1, 1))
                self.assertIn(said.strip(), logs.output[0])

    def test_a_return_value_that_is_no_json_is_its_error(self) -> None:
        with self.assertLogs(LOGGER, level="ERROR"):
            result = self.run_one(tasks.returns_a_function)
        self.assertIs(result.errors[0].exception_class, TypeError)
        self.assertIn("Unsupported type", result.errors[0].traceback)
        self.assertIsNone(result._return_value)

    def test_is_told_and_logged(self) -> None:
        with told(task_started) as started, told(task_finished) as finished:
            with self.assertLogs(LOGGER, level="INFO") as logs:
                result = self.run_one(tasks.answer)
            with self.assertLogs(LOGGER, level="ERROR"):
                failed = self.run_one(tasks.raises)
        self.assertEqual([each["task_result"].id for each in started], [result.id, failed.id])
        self.assertEqual(
            [(each["task_result"].id, each["task_result"].status) for each in finished],
            [(result.id, TaskResultStatus.SUCCESSFUL), (failed.id, TaskResultStatus.FAILED)],
        )
        self.assertEqual([each.rpartition("=")[2] for each in logs.output], ["RUNNING", "SUCCESSFUL"])

    def test_a_task_may_have_its_context(self) -> None:
        result = self.run_one(tasks.its_id)
        self.assertEqual(result.return_value, result.id)
        self.assertEqual(self.run_one(tasks.its_attempt, 10).return_value, 11)

    def test_higher_priorities_go_first_and_nothing_before_its_time(self) -> None:
        later = tasks.noop.using(run_after=timezone.now() + timedelta(hours=1)).enqueue()
        low, high = tasks.noop.using(priority=-5).enqueue(), tasks.noop.using(priority=5).enqueue()
        self.assertEqual([str(job.id) for job in run_tasks()], [high.id, low.id])
        self.assertEqual(later.task.get_result(later.id).status, TaskResultStatus.READY)

    def test_arguments_of_another_version_wait_for_its_worker(self) -> None:
        with told(task_started) as started, told(task_finished) as finished:
            for each, args, kwargs, said in (
                (tasks.answer, [1], {}, "too many positional arguments"),
                (tasks.answer, [], {"rounded": True}, "got an unexpected keyword argument 'rounded'"),
                (tasks.its_attempt, [1], {"minus": 1}, "got an unexpected keyword argument 'minus'"),
                (tasks.its_attempt, [], {}, "missing a required argument: 'plus'"),
            ):
                with self.subTest(each, said=said):
                    result = each.enqueue(*args, **kwargs)
                    [job] = run_tasks()
                    self.assertEqual(job.parked_reason, f"the handler here takes other arguments: {said}")
                    result.refresh()
                    self.assertEqual((result.status, result.attempts, result.errors), (TaskResultStatus.READY, 0, []))
        self.assertEqual((started, finished), ([], []))

    def test_what_a_decorator_gives_its_task_is_no_argument(self) -> None:
        self.assertEqual(self.run_one(tasks.decorated, 7).return_value, ["ada", 7])

    def test_no_second_attempt_unless_it_is_asked_for(self) -> None:
        with self.assertLogs(LOGGER, level="ERROR"):
            self.assertEqual(self.run_one(tasks.raises).attempts, 1)
        flaky = self.run_one(tasks.flaky, 3)
        self.assertEqual((flaky.return_value, flaky.attempts, len(flaky.errors)), (3, 3, 2))
        self.assertIs(flaky.errors[0].exception_class, LookupError)
        self.assertEqual(flaky.worker_ids[:2], ["unknown", "unknown"])
        waits = self.run_one(tasks.fails_twice)  # its backend has retries
        self.assertEqual((waits.status, waits.attempts, len(waits.errors)), (TaskResultStatus.READY, 1, 1))

    def test_it_may_snooze_or_give_up(self) -> None:
        self.assertEqual(self.run_one(tasks.snoozing).return_value, "rested")
        with self.assertLogs(LOGGER, level="ERROR"):
            result = self.run_one(tasks.gives_up)
        self.assertEqual(result.errors[0].exception_class.__name__, "Fail")
        self.assertEqual(result.errors[0].traceback, "there is no such order\n")

    def test_a_cancelled_task_has_failed(self) -> None:
        result = tasks.noop.enqueue()
        app.on("default").run(cancel(result.id))
        result.refresh()
        self.assertEqual((result.status, result.attempts), (TaskResultStatus.FAILED, 0))
        self.assertEqual(result.errors[0].exception_class.__name__, "JobCancelled")

    def test_the_orm_works_in_tasks_of_both_kinds_and_in_handlers(self) -> None:
        self.run_one(tasks.place_order, "one")
        app.on("default").enqueue([app.prepare("greet", {"name": "two"})])
        self.assertEqual(self.run_one(tasks.count_orders).return_value, 2)


class Immediately(SimpleTestCase):
    def test_tasks_run_where_they_are_enqueued(self) -> None:
        self.assertIsInstance(task_backends["immediate"], ImmediateBackend)
        self.assertEqual(tasks.answer.using(backend="immediate").enqueue().return_value, 42)
        later = tasks.its_id.using(backend="immediate", run_after=timezone.now()).enqueue()
        self.assertEqual(later.return_value, later.id)


class told:  # noqa: N801 - reads as a word
    """What a signal's receivers are given."""

    def __init__(self, signal: Any) -> None:
        self._signal = signal
        self._heard: list[dict[str, Any]] = []

    def _hear(self, **told: Any) -> None:
        self._heard.append(told)

    def __enter__(self) -> list[dict[str, Any]]:
        self._signal.connect(self._hear)
        return self._heard

    def __exit__(self, *_: object) -> None:
        self._signal.disconnect(self._hear)


def cancel(id: str) -> Any:
    from uuid import UUID

    from penstock.engine.commands import Cancel

    return Cancel([UUID(id)])
