"""A job that was given up, as those are told who asked to be: @app.on_failure."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from penstock.job import ClaimedJob


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that was given up, for whoever asked to be told.

    `exception` is what the last attempt raised, if it raised here: None for a timeout, Fail, or another process.

    ```python
    @app.on_failure
    def tell(failure: Failure) -> None:
        print(failure.job.kind, failure.job.id, failure.error)
    ```
    """

    job: ClaimedJob
    error: str
    exception: BaseException | None = None
    traceback: str | None = None


FailureHook = Callable[[Failure], Awaitable[None] | None]
