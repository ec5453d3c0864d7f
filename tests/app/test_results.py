"""`result` waits for a job to end, woken by a NOTIFY, and returns what its handler returned."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from penstock import JobCancelled, JobFailed, JobHandle, Penstock
from penstock.engine.postgres import wait
from tests.app.worker import Worker
from tests.kit.fixtures import Connect
from tests.kit.until import wait_until

IsWatched = Callable[[UUID], bool]


@pytest.fixture
def is_watched(connect: Connect) -> IsWatched:
    """Whether somebody waits for the job by now."""
    connection = connect()
    query = b"select watched from penstock.jobs where id = %s"
    return lambda id: connection.execute(query, [id]).fetchall() == [(True,)]


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Somebody else acts while the test waits."""
    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.fixture
def only_notifications_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking again without a notification takes so long that the test would fail."""
    monkeypatch.setattr(wait, "_FIRST_LOOK_AGAIN", 300.0)
    monkeypatch.setattr(wait, "_LAST_LOOK_AGAIN", 300.0)


@pytest.fixture
def handle(app: Penstock) -> JobHandle[str]:
    @app.job
    def greet(name: str) -> str:
        return f"hello {name}"

    return greet.enqueue("ada")


def end(app: Penstock, is_watched: IsWatched, id: UUID, **how: str) -> Callable[[], None]:
    """Ends the job as soon as somebody waits for it."""

    def act() -> None:
        wait_until(lambda: is_watched(id))
        worker = Worker(app)
        match how:
            case {"output": output}:
                worker.complete(worker.claim_one(), output=output)
            case {"error": error}:
                worker.fail(worker.claim_one(), error=error)
            case {"reason": reason}:
                app.jobs.cancel(id, reason=reason)

    return act


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
@pytest.mark.usefixtures("only_notifications_wake")
def test_a_notification_wakes_whoever_waits_for_the_result(
    app: Penstock, handle: JobHandle[str], is_watched: IsWatched
) -> None:
    with meanwhile(end(app, is_watched, handle.id, output="hello ada")):
        assert handle.result(timeout=30) == "hello ada"


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
@pytest.mark.usefixtures("only_notifications_wake")
async def test_a_notification_wakes_every_task_that_waits(
    app: Penstock, handle: JobHandle[str], is_watched: IsWatched
) -> None:
    waiters = [asyncio.create_task(handle.aresult(timeout=30)) for _ in range(5)]
    await asyncio.to_thread(end(app, is_watched, handle.id, output="hello ada"))
    assert await asyncio.gather(*waiters) == ["hello ada"] * 5


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
@pytest.mark.usefixtures("only_notifications_wake")
def test_a_notification_about_another_job_does_not_end_the_wait(
    app: Penstock, handle: JobHandle[str], is_watched: IsWatched
) -> None:
    other = app.handler("greet").using(priority=1).enqueue("grace")

    def act() -> None:
        with meanwhile(end(app, is_watched, other.id, output="hello grace")):
            other.result(timeout=30)
        end(app, is_watched, handle.id, output="hello ada")()

    with meanwhile(act):
        assert handle.result(timeout=30) == "hello ada"


def test_where_no_notification_arrives_looking_again_finds_the_end(
    app: Penstock, handle: JobHandle[str], is_watched: IsWatched, connect: Connect
) -> None:
    def act() -> None:
        wait_until(lambda: is_watched(handle.id))
        with connect().transaction() as _, connect() as connection:
            # nobody is told
            connection.execute("update penstock.jobs set watched = false")
            worker = Worker(app)
            worker.complete(worker.claim_one(), output="hello ada")

    with meanwhile(act):
        assert handle.result(timeout=30) == "hello ada"


def test_the_result_of_a_job_that_has_ended_is_there_at_once(app: Penstock, handle: JobHandle[str]) -> None:
    Worker(app).run_all(output="hello ada")
    assert handle.result(timeout=0) == "hello ada"
    assert app.handle(handle.id).result() == "hello ada"


async def test_the_same_in_async_code(app: Penstock, handle: JobHandle[str]) -> None:
    Worker(app).run_all(output="hello ada")
    assert await handle.aresult(timeout=0) == "hello ada"


def test_a_failed_job_says_how_often_and_why(app: Penstock, handle: JobHandle[str], is_watched: IsWatched) -> None:
    with (
        meanwhile(end(app, is_watched, handle.id, error="nobody there")),
        pytest.raises(JobFailed, match=f"^greet {handle.id} failed after 1 attempt: nobody there$"),
    ):
        handle.result(timeout=30)


async def test_a_cancelled_job_says_why(app: Penstock, handle: JobHandle[str], is_watched: IsWatched) -> None:
    waiter = asyncio.create_task(handle.aresult(timeout=30))
    await asyncio.to_thread(end(app, is_watched, handle.id, reason="not needed"))
    with pytest.raises(JobCancelled, match=f"^greet {handle.id} was cancelled: not needed$"):
        await waiter


def test_a_wait_ends_with_its_timeout(handle: JobHandle[str]) -> None:
    with pytest.raises(TimeoutError, match=rf"^job {handle.id} has not ended within 0\.05 s$"):
        handle.result(timeout=0.05)


async def test_an_async_wait_ends_with_its_timeout_or_when_cancelled(handle: JobHandle[str]) -> None:
    with pytest.raises(TimeoutError, match=r"has not ended within 0\.05 s$"):
        await handle.aresult(timeout=0.05)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(handle.aresult(), 0.05)
