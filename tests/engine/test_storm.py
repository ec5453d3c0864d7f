import os
import random
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

from tests.engine.conftest import Hands
from tests.engine.draining import drain
from tests.engine.invariants import check_invariants
from tests.engine.storm import QUEUES, Ledger, ask, maintain, observe, play, work

CLAIMS = int(os.environ.get("STORM_CLAIMS", "400"))


def test_in_a_storm_of_everything_at_once_no_job_is_lost_or_stuck_and_no_claim_ends_twice(hands: Hands) -> None:
    hand = hands()
    hand.set_queue("narrow", max_running=4)
    hand.set_queue("keyed", max_running_per_key=2, max_running=6)
    hand.set_queue("fair", fair_by="limit_key")
    roles = [work] * 4 + [ask] * 3 + [maintain, observe]
    crowd = [(hands(), role) for role in roles]
    for each, _ in crowd:
        each.do("set deadlock_timeout = '20ms'")
    ledger = Ledger(CLAIMS, monotonic() + 60)
    with ThreadPoolExecutor(len(crowd)) as threads:
        running = [
            threads.submit(play, role, each, ledger, random.Random(place)) for place, (each, role) in enumerate(crowd)
        ]
    for played in running:
        played.result()

    print(ledger.counts)
    assert ledger.counts["claims"] > 50
    assert [claim for claim, times in ledger.accepted.items() if times > 1] == []
    assert len(ledger.created) == len(set(ledger.created))
    check_invariants(hand)
    drain(hand, QUEUES)
    kept = hand.value("select count(*) from penstock.history")
    assert kept + ledger.purged == len(ledger.created)
