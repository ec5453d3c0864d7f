"""The short form of `make chaos-ha`: each of its faults once, where etcd and Patroni can be had."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from penstock.embedded.account import Account
from tests.chaos.ha.__main__ import ALLOWED, Failovers, Lines, run
from tests.chaos.ha.cluster import Cluster, NotToBeHad, needed
from tests.chaos.ha.faults import FAULTS
from tests.chaos.ha.network import Machine
from tests.chaos.ledger import Reckoning
from tests.chaos.probes import Recovery
from tests.chaos.report import show
from tests.chaos.storm import Outcome, Plan, Struck
from tests.chaos.watcher import Watcher


@pytest.mark.slow
@pytest.mark.time_limit(1200)
def test_whoever_leads_no_job_is_lost_and_work_flows_again_within_five_seconds(tmp_path: Path) -> None:
    try:
        needed()
    except NotToBeHad as missing:
        pytest.skip(str(missing))
    plan = Plan(20, 0, tuple(FAULTS), logs=tmp_path / "logs", allowed=ALLOWED)
    found = run(plan, Lines(Console()))
    assert sorted(each.kind for each in found.outcome.struck) == sorted(FAULTS)
    assert len(found.served) == len(FAULTS), "each of them ends in a promotion"
    assert found.good, found


def test_the_harness_asks_first_who_was_promoted_and_the_application_is_told_nothing(tmp_path: Path) -> None:
    machines = [Machine(number) for number in (1, 2, 3)]
    cluster = Cluster(tmp_path, machines, ("etcd", "patroni"), Account("postgres"))
    assert cluster.own_url == cluster.url
    cluster.promoted = cluster.nodes[1]
    first, second, third = (node.address for node in cluster.nodes)
    assert f"host={second},{first},{third} " in cluster.own_url
    assert f"host={first},{second},{third} " in cluster.url


BALANCED = Outcome(20, [], [], [], True, Reckoning(**dict.fromkeys(Reckoning.__annotations__, 0)), ALLOWED)


@pytest.mark.parametrize(
    ("served", "went_on", "end", "good"),
    [
        ([1.0, 4.9], [0.5, 9.0], True, True),
        ([1.0, 5.1], [0.5, 0.5], True, False),
        ([1.0, None], [0.5, 0.5], True, False),
        ([1.0, 4.9], [0.5, None], True, False),
        ([1.0, 4.9], [0.5, 0.5], False, False),
    ],
)
def test_whoever_never_came_back_is_no_pass_and_no_number(
    served: list[float | None], went_on: list[float | None], end: bool, good: bool
) -> None:
    found = Failovers(BALANCED, served, went_on, streams=1, saw_the_end=end)
    assert found.good is good
    written = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert written["api_each_s"] == served
    assert written["recovery_s"] == (None if None in served else max(each or 0 for each in served))


def test_a_step_is_what_tells_more_than_was_known(tmp_path: Path) -> None:
    watcher = Watcher("http://api.test", tmp_path)
    assert watcher.heard_after(0) is None
    for done in (2.0, 2.0, 1.5):
        watcher.hear(f'data: {{"progress": {{"done": {done}}}}}')
    assert len(watcher.heard) == 1
    assert watcher.heard_after(watcher.heard[0]) is None, "what was heard before a promotion is no sign of going on"
    watcher.hear("event: progress")
    watcher.hear('data: {"progress": null}')
    watcher.hear('data: {"progress": {"done": 2.5}}')
    assert len(watcher.heard) == 2
    assert not watcher.saw_the_end
    watcher.hear("event: succeeded")
    assert watcher.saw_the_end


@pytest.mark.parametrize(("allowed", "colour"), [(10.0, "32"), (5.0, "31")])
def test_a_recovery_is_judged_by_what_its_plan_allows(allowed: float, colour: str) -> None:
    screen = StringIO()
    struck = [Struck("kill leader", "node1 is killed", Recovery(7.0))]
    balanced = Reckoning(**dict.fromkeys(Reckoning.__annotations__, 0))
    outcome = Outcome(20, struck, [], [], True, balanced, allowed)
    show(Console(file=screen, force_terminal=True, color_system="standard"), outcome)
    assert f"\x1b[{colour}m7.00" in screen.getvalue()
    assert outcome.good is (allowed == 10.0)
