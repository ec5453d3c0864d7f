"""Arguments of every size: large ones are written once, beside the job, and nobody who looks at a job can tell."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock.engine import commands
from penstock.engine.postgres.copy import INLINE
from penstock.engine.postgres.drivers import Psycopg, run_one, run_script
from penstock.engine.postgres.enqueue import COPY_FROM, enqueue, plain_one
from penstock.errors import DuplicateKey, IdempotencyMismatch
from penstock.flow import batch
from penstock.job import Bulk, JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.sql.neighbours import act_as, claims_of

OWNED: dict[str, Any] = {"owner": "bob", "org": "bobs"}
Args = dict[str, Any]
SMALL: Args = {"n": 1, "nested": {"of": ["bob"]}}
LARGE: Args = SMALL | {"text": "ünïcode " * 250, "numbers": list(range(500))}


def encoded(args: Args) -> bytes:
    return json.dumps(args).encode()


def by_sql(hand: Hand, args: Args) -> UUID:
    enqueue = "select penstock.enqueue('work', %s::jsonb, owner => 'bob', org => 'bobs')"
    return UUID(str(hand.value(enqueue, json.dumps(args))))


def with_a_key(hand: Hand, args: Args) -> UUID:
    return hand.add(args=encoded(args), unique_key="k", **OWNED)


def alone(hand: Hand, args: Args) -> UUID:
    bulk = Bulk.of(NewJob(kind="work", **OWNED), [encoded(args)])
    command = plain_one(bulk, hand=True)
    assert command is not None
    run_one(Psycopg(hand.connection, "penstock"), command, "penstock")
    return UUID(bytes=bulk.ids[0])


def by_copy(hand: Hand, args: Args) -> UUID:
    """Among others of the other size, which go away again."""
    other = SMALL if len(encoded(args)) > INLINE else LARGE
    bulk = Bulk.of(NewJob(kind="work", **OWNED), [encoded(args)] + [encoded(other)] * COPY_FROM)
    with hand.connection.transaction():
        run_script(Psycopg(hand.connection, "penstock"), enqueue(bulk), "penstock")
    assert hand.value("select count(*) from penstock.payloads") == (COPY_FROM if other == LARGE else 1)
    for table in ("jobs", "payloads"):
        hand.do(f"delete from penstock.{table} where id <> %s", UUID(bytes=bulk.ids[0]))
    return UUID(bytes=bulk.ids[0])


def by_a_user(hand: Hand, args: Args) -> UUID:
    hand.run(commands.DeclareKinds([{"kind": "work", "template": {}}], ["work"]))
    with hand.connection.transaction():
        act_as(hand.connection, "authenticated", claims_of("bob"))
        id = hand.value("select id from penstock.start('work', %s::jsonb, 'bobs')", json.dumps(args))
        hand.do("reset role")
    return UUID(str(id))


def by_a_schedule(hand: Hand, args: Args) -> UUID:
    hand.do(
        """select penstock.set_schedule('nightly', '0 0 * * *', 'work', %s::jsonb,
                                        p_options => '{"owner": "bob", "org": "bobs"}')""",
        json.dumps(args),
    )
    return hand.run(commands.RunSchedule("nightly"))


def in_a_flow(hand: Hand, args: Args) -> UUID:
    hand.start(batch([NewJob(kind="work", args=encoded(args), **OWNED)]))
    return UUID(str(hand.value("select id from penstock.jobs where kind = 'work'")))


def on_behalf(hand: Hand, args: Args) -> UUID:
    job = NewJob(kind="work", args=encoded(args), **OWNED)
    return hand.run(commands.StartFor("bob", None, [job]))[0].id


WAYS: list[Callable[[Hand, Args], UUID]] = [
    by_sql, with_a_key, alone, by_copy, by_a_user, by_a_schedule, in_a_flow, on_behalf,
]  # fmt: skip


def seen(hand: Hand, id: UUID, args: Args) -> None:
    """By whoever may look."""
    assert hand.job(id).args == args
    contained = {"args": {"nested": args["nested"]}}
    for filter in ({}, {"kind": "work"}, contained, contained | {"owner": "bob"}):
        assert [job.args for job in hand.run(commands.ListJobs(filter, None, 50)) if job.id == id] == [args]
    assert hand.run(commands.ListJobs({"args": {"nested": "another"}}, None, 50)) == []
    with hand.connection.transaction(force_rollback=True):
        act_as(hand.connection, "authenticated", claims_of("bob"))
        assert hand.rows("select args from penstock.get_my_job(%s)", id) == [(args,)]
        mine = hand.rows("select id, args from penstock.list_my_jobs(%s::jsonb)", json.dumps(contained))
        assert mine == [(id, args)]
    with hand.connection.transaction(force_rollback=True):
        act_as(hand.connection, "authenticated", claims_of("alice"))
        assert hand.rows("select from penstock.my_jobs") == hand.rows("select from penstock.payloads") == []


def beside(hand: Hand) -> tuple[int, int]:
    """How many payloads and errors there are."""
    counts = "select (select count(*) from penstock.payloads)::int, (select count(*) from penstock.errors)::int"
    [(payloads, errors)] = hand.rows(counts)
    return payloads, errors


@pytest.mark.parametrize("args", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_arguments_are_whole_from_every_way_in_to_every_way_out(
    hand: Hand, way: Callable[[Hand, Args], UUID], args: Args
) -> None:
    id = way(hand, args)
    large = int(args == LARGE)
    assert beside(hand) == (large, 0)
    assert hand.value("select args is null from penstock.jobs where id = %s", id) == bool(large)
    seen(hand, id, args)
    worker = hand.worker()
    for _ in range(2):
        job = worker.claim_one()
        assert (job.id, json.loads(job.args)) == (id, args)
        worker.progress(job, 50)
        seen(hand, id, args)
        worker.fail(job, retry_in=0)
    worker.fail(worker.claim_one(), final=True)
    seen(hand, id, args)
    assert hand.value("select args is null from penstock.history where id = %s", id) == bool(large)
    assert id in hand.run(commands.RetryWhere({"kind": "work", "args": {"n": 1}}))
    seen(hand, id, args)
    job = worker.claim_one()
    assert json.loads(job.args) == args
    worker.complete(job, outputs=[b'"done"'])
    seen(hand, id, args)
    assert [error["error"] for error in hand.job(id).errors] == ["boom"] * 3
    assert hand.run(commands.PurgeWhere({"kind": "work", "state": "succeeded", "args": {"n": 1}})) == 1
    assert hand.value("select count(*) from penstock.payloads") == 0
    assert hand.value("select count(*) from penstock.errors where id = %s", id) == 0


@pytest.mark.parametrize("length", [INLINE - 100, INLINE + 100])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_in_draws_the_line_at_about_the_same_length(
    hand: Hand, way: Callable[[Hand, Args], UUID], length: int
) -> None:
    args = SMALL | {"text": "x" * (length - len(encoded(SMALL)) - len('"text": "", '))}
    assert len(encoded(args)) == length
    way(hand, args)
    counted = "select count(*) from penstock.payloads where args::jsonb = %s::jsonb"
    assert hand.value(counted, json.dumps(args)) == (length > INLINE)


@pytest.mark.parametrize("first", [SMALL, LARGE], ids=["small first", "large first"])
@pytest.mark.parametrize("claimed", [2, 30])
def test_a_claim_brings_arguments_of_both_sizes(hand: Hand, first: Args, claimed: int) -> None:
    other = LARGE if first == SMALL else SMALL
    given = [({"i": i} | (first if i % 2 == 0 else other)) for i in range(claimed)]
    hand.enqueue(*(NewJob(kind="work", args=encoded(args)) for args in given))
    jobs = hand.worker().claim(claimed)
    assert sorted((json.loads(job.args) for job in jobs), key=lambda args: args["i"]) == given


def test_jobs_of_many_days_are_claimed_at_once(hand: Hand) -> None:
    """Their payloads are in many partitions, and among the strays."""
    ids = []
    for days in (-400, -1, 0, 1, 2, 3, 400):
        for _ in range(3):
            id = UUID(str(hand.value("select penstock.uuid7(now() + make_interval(days => %s))", days)))
            ids.append(hand.add(id=id, args=encoded(LARGE | {"id": str(id)})))
    assert len(hand.rows("select distinct tableoid from penstock.payloads")) == 5
    jobs = hand.worker().claim(100)
    assert {job.id: json.loads(job.args) for job in jobs} == {id: LARGE | {"id": str(id)} for id in ids}


@pytest.mark.parametrize("filter", [{}, {"kind": "work"}, {"owner": "bob"}, {"parent": True}], ids=str)
def test_a_page_looks_up_the_payloads_of_its_own_jobs_alone(hand: Hand, filter: dict[str, Any]) -> None:
    """Also where the jobs have to be sorted first."""
    jobs = [NewJob(kind="work", args=encoded(LARGE), **OWNED) for _ in range(60)]
    flow = hand.start(batch(jobs))
    filter = {"parent": str(flow)} if filter == {"parent": True} else filter
    with hand.connection.transaction(force_rollback=True):
        hand.do("set local track_functions = 'pl'")
        assert len(hand.run(commands.ListJobs(filter, None, 5))) == 5
        looked_up = "select calls from pg_stat_xact_user_functions where funcname = 'payload_text'"
        assert hand.value(looked_up) <= 5


def test_a_payload_is_not_touched_after_the_enqueue(hand: Hand) -> None:
    id = hand.add(args=encoded(LARGE))
    place = "select ctid::text || xmin::text || xmax::text from penstock.payloads"
    before = hand.rows(place)
    worker = hand.worker()
    worker.fail(worker.claim_one(), final=True)
    hand.run(commands.Retry([id]))
    worker.complete(worker.claim_one())
    assert hand.rows(place) == before


def test_whoever_waits_for_a_job_sees_what_it_was_given(hand: Hand) -> None:
    first = NewJob(kind="first", args=encoded(LARGE))
    second = NewJob(kind="second", args=encoded(SMALL))
    last = hand.enqueue(first, second, NewJob(kind="last", after=(first.id, second.id)))[-1].id
    worker = hand.worker()
    worker.complete(*worker.claim(2))
    job = worker.claim_one()
    assert job.id == last
    assert [each.args for each in worker.outputs(job)] == [LARGE, SMALL]


@pytest.mark.parametrize("args", [SMALL, LARGE], ids=["small", "large"])
def test_a_queue_that_forgets_its_successes_forgets_what_was_beside_them(hand: Hand, args: Args) -> None:
    hand.set_queue("default", keep="failed")
    for _ in range(3):
        hand.add(args=encoded(args))
    worker = hand.worker()
    worker.fail(worker.claim_one(), retry_in=0)
    jobs = worker.claim(3)
    worker.fail(jobs.pop(), final=True)
    kept = (int(args == LARGE), 1)
    worker.complete(*jobs)
    assert beside(hand) in (kept, (kept[0], 2)), "of the one that failed, once or twice"
    awaited = NewJob(kind="awaited", args=encoded(args))
    hand.enqueue(awaited, NewJob(kind="waits", after=(awaited.id,)))
    worker.finish_all()
    assert hand.job(awaited.id).args == args


def test_an_idempotency_key_is_for_all_of_the_arguments(hand: Hand) -> None:
    id = hand.add(args=encoded(LARGE), idempotency_key="k")
    again = NewJob(kind="work", args=encoded(LARGE), idempotency_key="k")
    assert [(each.id, each.created) for each in hand.enqueue(again)] == [(id, False)]
    another = LARGE | {"numbers": [*LARGE["numbers"][:-1], 0]}
    with pytest.raises(IdempotencyMismatch):
        hand.add(args=encoded(another), idempotency_key="k")
    assert beside(hand) == (1, 0)


def test_a_job_that_stands_for_another_leaves_the_others_arguments_out(hand: Hand) -> None:
    id = with_a_key(hand, LARGE)
    assert with_a_key(hand, LARGE | {"n": 2}) == id
    assert hand.job(id).args == LARGE
    assert beside(hand) == (1, 0)


def test_no_arguments_at_all_are_refused_or_none(hand: Hand) -> None:
    """Null in a row means that they are elsewhere: nobody may put it there."""
    with pytest.raises(psycopg.errors.NotNullViolation):
        hand.do("select penstock.enqueue_plain(penstock.uuid7(), 'work', null)")
    hand.do("select penstock.enqueue('work', null)")
    hand.do("""select penstock.enqueue_jobs('[{"kind": "work", "args": null}]')""")
    assert [job.args for job in hand.worker().claim(5)] == ["{}", "{}"]


def test_an_id_that_a_finished_job_has_is_refused(hand: Hand) -> None:
    id = hand.add(args=encoded(LARGE))
    worker = hand.worker()
    worker.complete(worker.claim_one())
    with pytest.raises(DuplicateKey):
        hand.add(id=id, args=encoded(LARGE))


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
def test_a_job_is_handed_over_with_its_large_arguments(hands: Hands) -> None:
    hand, listener = hands(), hands()
    [channel] = listener.rows("select hand from penstock.channels")[0]
    listener.do(f'listen "{channel}"')
    worker = listener.worker()
    listener.rows("select penstock.wait_for_work(%s, '{default}', pg_backend_pid(), true)", worker.lease)
    id = alone(hand, LARGE)
    [notification] = listener.connection.notifies(timeout=10, stop_after=1)
    handed = json.loads(notification.payload)
    assert (handed["lease"], handed["queue"], handed["job"]["id"]) == (worker.lease, "default", str(id))
    assert json.loads(handed["job"]["args"]) == LARGE
    assert beside(hand) == (1, 0)
    seen(hand, id, LARGE)


def partitions(hand: Hand, table: str) -> list[str]:
    names = hand.rows(f"select name::text from penstock.partitions_of('penstock.{table}') order by 1")
    return [name.rpartition("_")[2] for (name,) in names]


def same_days(hand: Hand) -> list[str]:
    history, payloads, errors = (partitions(hand, table) for table in ("history", "payloads", "errors"))
    assert history == payloads == errors
    return history


def failed_once(hand: Hand) -> UUID:
    """A job with large arguments and an error."""
    id = hand.add(args=encoded(LARGE))
    worker = hand.worker()
    worker.fail(worker.claim_one(), retry_in=0)
    return id


def finish_one(hand: Hand) -> None:
    worker = hand.worker()
    worker.complete(worker.claim_one())


def test_what_is_beside_jobs_goes_with_their_history(hand: Hand) -> None:
    first_day = same_days(hand)[0]
    failed_once(hand)
    finish_one(hand)
    hand.move_clock(days=31, seconds=1)
    hand.run(commands.Maintain())
    assert beside(hand) == (0, 0)
    assert first_day not in same_days(hand)


def test_what_is_beside_a_job_that_outlives_its_history_moves_to_the_strays(hand: Hand) -> None:
    """And is deleted with the job, in the end."""
    id = failed_once(hand)
    same_days(hand)
    for _ in range(2):
        hand.move_clock(days=32)
        hand.run(commands.Maintain())
        same_days(hand)
    where = "select relname from pg_class where oid in (select tableoid from penstock.{})"
    homes = [hand.value(where.format(table)) for table in ("payloads", "errors")]
    assert homes == ["payloads_strays", "errors_strays"]
    assert hand.job(id).args == LARGE
    worker = hand.worker()
    job = worker.claim_one()
    assert json.loads(job.args) == LARGE
    worker.fail(job, "again", final=True)
    assert [error["error"] for error in hand.job(id).errors] == ["boom", "again"]
    assert beside(hand) == (1, 2)
    hand.move_clock(days=29)
    hand.run(commands.Maintain())
    assert hand.job(id).args == LARGE
    hand.move_clock(days=2)
    hand.run(commands.Maintain())
    assert beside(hand) == (0, 0)


@pytest.mark.needs_session("sets its session up: a pooler takes no options, and forgets what is set")
def test_what_somebody_reads_at_length_is_dropped_later(hands: Hands) -> None:
    hand, reader = hands(), hands()
    failed_once(hand)
    finish_one(hand)
    hand.move_clock(days=32)
    with reader.connection.transaction():
        reader.rows("select count(*) from penstock.payloads")
        hand.run(commands.Maintain())
        assert len(partitions(hand, "payloads")) > len(partitions(hand, "history"))
    hand.run(commands.Maintain())
    same_days(hand)
    assert beside(hand) == (0, 0)


def test_a_range_whose_payloads_went_astray_stays_with_them(hand: Hand) -> None:
    id = UUID(str(hand.value("select penstock.uuid7(now() + interval '10 days')")))
    hand.add(id=id, args=encoded(LARGE))
    hand.move_clock(days=10)
    assert (hand.run(commands.Maintain()) or {})["partitions_added"] == 3
    same_days(hand)
    assert hand.job(id).args == LARGE


def test_an_error_is_written_once_and_the_oldest_but_the_first_make_room(hand: Hand) -> None:
    id = hand.add(max_attempts=1000)
    worker = hand.worker()
    place = "select number, ctid::text || xmin::text from penstock.errors order by number"
    before: list[Any] = []
    for attempt in range(1, 104):
        worker.fail(worker.claim_one(), f"error {attempt}", traceback="line\n" * 1000, retry_in=0)
        if attempt in (50, 51):
            before, earlier = hand.rows(place), before
            assert set(earlier) <= set(before)
    shown = [error["error"] for error in hand.job(id).errors]
    assert shown == ["error 1", *(f"error {n}" for n in range(5, 104))]
    assert all(a < b for a, b in pairwise(error["at"] for error in hand.job(id).errors))
    assert hand.job(id).state is JobState.READY


@pytest.mark.parametrize("jobs", [1, 30])
def test_what_jsonb_cannot_hold_is_refused_at_any_length(hand: Hand, jobs: int) -> None:
    args = b'{"text": "%s\\u0000"}' % (b"x" * 600)
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        hand.enqueue(*(NewJob(kind="work", args=args) for _ in range(jobs)))
    assert hand.rows("select from penstock.jobs") == []


def test_a_backslash_before_u0000_is_no_escape(hand: Hand) -> None:
    args = b'{"text": "%s\\\\u0000"}' % (b"x" * 600)
    for _ in hand.enqueue(*(NewJob(kind="work", args=args) for _ in range(30))):
        assert hand.worker().claim_one().args == args.decode()
