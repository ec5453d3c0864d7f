"""Actions over many jobs, which the worker that leads goes on with."""

from penstock import Penstock
from tests.kit.until import until
from tests.kit.working import working


async def test_the_worker_that_leads_changes_many_jobs_in_the_background(app: Penstock) -> None:
    @app.job(queue="elsewhere")
    def work() -> None: ...

    await work.aenqueue_many([{}] * 1_200)
    operation = await app.operator("ada").acancel(queue="elsewhere")
    assert operation.state == "running"
    async with working(app):
        done = await until(lambda: app.operations.aget(operation.id), so=lambda found: found and found.finished)
    assert done is not None
    assert (done.state, done.done) == ("done", 1_200)
