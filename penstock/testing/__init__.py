"""A test kit for programs that use Penstock. Its fixtures are in the module pytest_penstock."""

from penstock.context import Earlier
from penstock.testing.database import ThrowAwayDatabase
from penstock.testing.drain import adrain, drain
from penstock.testing.fake_clock import FakeClock
from penstock.testing.inline import InlineRun, arun_inline, run_inline

__all__ = [
    "Earlier", "FakeClock", "InlineRun", "ThrowAwayDatabase", "adrain", "arun_inline", "drain", "run_inline",
]  # fmt: skip
