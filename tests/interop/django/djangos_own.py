"""Django's own tests of its tasks framework, on our backend: what `make test-django` runs of them, and what not.

They are fetched from its source distribution by versions.py, which puts one of these backends wherever they name one of
Django's. Those of the dummy backend ask what a task is that waits, those of the
immediate one how it runs and ends.
"""

import unittest
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from penstock.interop.django import ImmediateBackend, PenstockBackend
from penstock.interop.django.framework import AnyResult
from penstock.interop.django.testing import run_tasks

MODULES = ("test_tasks", "test_dummy_backend", "test_immediate_backend")
"""test_custom_backend is of backends that it has itself."""

_OF_THE_DUMMY = "is about the list that the dummy backend keeps in memory"
_NO_RESULTS = "the immediate backend keeps no results; ours does"

LEFT_OUT = {
    "DummyBackendTestCase.test_clear": _OF_THE_DUMMY,
    "DummyBackendTestCase.test_refresh_result": _OF_THE_DUMMY,
    "DummyBackendTestCase.test_refresh_result_async": _OF_THE_DUMMY,
    "TaskTestCase.test_refresh_result": "calls refresh() in async code, where Django refuses to ask a database",
    "ImmediateBackendTestCase.test_cannot_get_result": _NO_RESULTS,
    "ImmediateBackendTestCase.test_cannot_refresh_result": _NO_RESULTS,
    "ImmediateBackendTestCase.test_cannot_pass_run_after": "the immediate backend cannot wait; ours does",
}


class Waiting(PenstockBackend):
    """In place of the dummy backend: what is enqueued waits."""

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.results: list[AnyResult] = []

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> AnyResult:
        result = super().enqueue(task, args, kwargs)
        self.results.append(result)
        return result

    def clear(self) -> None:
        self.results.clear()


class Running(PenstockBackend):
    """In place of the immediate backend: what is enqueued is run by what a worker runs."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> AnyResult:
        result = super().enqueue(task, args, kwargs)
        run_tasks()
        result.refresh()
        return result


AtOnce = ImmediateBackend
"""In place of the immediate backend where it is beside the dummy one."""


def load_tests(loader: unittest.TestLoader, *_: object) -> unittest.TestSuite:
    suite, left_out = unittest.TestSuite(), set()
    for name in MODULES:
        for test in _each(loader.loadTestsFromModule(import_module(f"tasks.{name}"))):
            named = test.id().removeprefix(f"tasks.{name}.")
            if named in LEFT_OUT:
                left_out.add(named)
            else:
                suite.addTest(test)
    assert left_out == set(LEFT_OUT), f"Django has no such test: {set(LEFT_OUT) - left_out}"
    return suite


def _each(suite: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for test in suite:
            yield from _each(test)
