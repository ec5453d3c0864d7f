"""The short form of `make chaos-ha`: each of its faults once, where etcd and Patroni can be had."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from penstock.embedded.account import Account
from tests.chaos.ha.__main__ import ALLOWED, Lines, run
from tests.chaos.ha.cluster import Cluster, NotToBeHad, needed
from tests.chaos.ha.faults import FAULTS
from tests.chaos.ha.network import Machine
from tests.chaos.ledger import Reckoning
from tests.chaos.probes import Recovery
from tests.chaos.report import show
from tests.chaos.storm import Outcome, Plan, Struck


@pytest.mark.slow
@pytest.mark.time_limit(1200)
def test_whoever_leads_no_job_is_lost_and_work_flows_again_within_five_seconds(tmp_path: Path) -> None:
    try:
        needed()
    except NotToBeHad as missing:
        pytest.skip(str(missing))
    plan = Plan(20, 0, tuple(FAULTS), logs=tmp_path / "logs", allowed=ALLOWED)
    outcome, served = run(plan, Lines(Console()))
    assert sorted(each.kind for each in outcome.struck) == sorted(FAULTS)
    assert len(served) == len(FAULTS), "each of them ends in a promotion"
    assert outcome.good, outcome
    assert max(served) <= ALLOWED


def test_the_harness_asks_first_who_was_promoted_and_the_application_is_told_nothing(tmp_path: Path) -> None:
    machines = [Machine(number) for number in (1, 2, 3)]
    cluster = Cluster(tmp_path, machines, ("etcd", "patroni"), Account("postgres"))
    assert cluster.own_url == cluster.url
    cluster.promoted = cluster.nodes[1]
    first, second, third = (node.address for node in cluster.nodes)
    assert f"host={second},{first},{third} " in cluster.own_url
    assert f"host={first},{second},{third} " in cluster.url


@pytest.mark.parametrize(("allowed", "colour"), [(10.0, "32"), (5.0, "31")])
def test_a_recovery_is_judged_by_what_its_plan_allows(allowed: float, colour: str) -> None:
    screen = StringIO()
    struck = [Struck("kill leader", "node1 is killed", Recovery(7.0))]
    balanced = Reckoning(**dict.fromkeys(Reckoning.__annotations__, 0))
    outcome = Outcome(20, struck, [], [], True, balanced, allowed)
    show(Console(file=screen, force_terminal=True, color_system="standard"), outcome)
    assert f"\x1b[{colour}m7.00" in screen.getvalue()
    assert outcome.good is (allowed == 10.0)
