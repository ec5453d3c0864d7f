from penstock.engine import PostgresEngine, calls
from penstock.job import JobState, NewJob


def test_a_job_is_enqueued_claimed_and_completed(engine: PostgresEngine) -> None:
    [enqueued] = engine.enqueue([NewJob(kind="greet", args=b'{"name": "Ada"}')])
    lease = engine.run(calls.open_lease("worker"))
    [claimed] = engine.run(calls.claim(lease, "default", 10))
    assert claimed.id == enqueued.id
    assert engine.run(calls.complete(lease, [claimed], [b'"hello"'])) == []
    job = engine.run(calls.get_job(enqueued.id))
    assert job is not None
    assert (job.state, job.output) == (JobState.SUCCEEDED, "hello")
