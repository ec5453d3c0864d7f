"""Working through everything that is left, to see that it comes to an end."""

from collections.abc import Iterable

from penstock.engine import commands
from tests.engine.hand import Hand
from tests.engine.invariants import check_invariants


def drain(hand: Hand, queues: Iterable[str]) -> None:
    """Claims and completes, an hour at a time, until no live job is left; fails when some are stuck."""
    names = list(queues)
    for name in names:
        hand.set_queue(name, paused=False)
    worker = hand.worker("drainer", seconds=60)
    while live := hand.value("select count(*) from penstock.jobs"):
        # past every lease but the drainer's, every rate's window and every schedule
        hand.move_clock(hours=1)
        hand.run(commands.ExtendLease(worker.lease))
        moved = (hand.run(commands.Maintain()) or {})["reclaimed"]
        for name in names:
            jobs = worker.claim(100, name)
            assert worker.complete(*jobs) == []
            moved += len(jobs)
        assert moved, f"{live} jobs are stuck: {hand.rows('select to_jsonb(j) from penstock.jobs as j')}"
    check_invariants(hand)
