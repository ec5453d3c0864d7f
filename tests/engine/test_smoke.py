from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.job import JobState, NewJob
from tests.kit import saying


def test_a_job_is_enqueued_claimed_and_completed(engine: PostgresEngine) -> None:
    [enqueued] = engine.enqueue([NewJob(kind="greet", args=b'{"name": "Ada"}')])
    lease = engine.run(commands.OpenLease("worker"))
    [claimed] = engine.run(commands.Claim(lease, "default", 10))
    assert claimed.id == enqueued.id
    assert engine.run(saying.complete(lease, [claimed], [b'"hello"'])) == []
    job = engine.run(commands.GetJob(enqueued.id))
    assert job is not None
    assert (job.state, job.output) == (JobState.SUCCEEDED, "hello")
