"""What is done to a cluster. Each fault is over when another node has been promoted: from then on counts how long
everybody takes to be back at work. The node that was struck comes back meanwhile."""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from random import Random

from psycopg import OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn

from tests.chaos.crew import Crew
from tests.chaos.ha.cluster import Cluster, Node, wait_for


@dataclass
class Stage:
    """As the storm's, with a cluster for its server."""

    server: Cluster
    crew: Crew
    dice: Random
    repairs: list[Callable[[], None]] = field(default_factory=list)
    """What brings back whoever was struck."""
    promotions: list[float] = field(default_factory=list)
    """When."""

    def last(self, least: float, most: float) -> None:
        time.sleep(self.dice.uniform(least, most))

    def leader(self) -> Node:
        """Of a cluster that is whole again: whoever was struck is back first."""
        while self.repairs:
            self.repairs.pop()()
        wait_for(self.server.whole, "the cluster to be whole")
        leader = self.server.leader()
        assert leader is not None
        return leader

    def wait_for_promotion(self, of_another_than: Node) -> str:
        others = [node for node in self.server.nodes if node is not of_another_than]
        wait_for(lambda: any(node.is_primary() for node in others), "a new leader")
        self.promotions.append(time.monotonic())
        self.server.promoted = next(node for node in others if node.is_primary())
        return self.server.promoted.name


def switch_over(stage: Stage) -> str:
    leader = stage.leader()
    [candidate, *_] = stage.server.in_step()
    leader.ask("/switchover", {"leader": leader.name, "candidate": candidate.name})
    return f"{leader.name} hands over to {stage.wait_for_promotion(leader)}"


def kill_leader(stage: Stage) -> str:
    leader = stage.leader()
    leader.kill()
    stage.repairs.append(lambda: stage.server.start_patroni(leader))
    return f"{leader.name} is killed, {stage.wait_for_promotion(leader)} takes over"


def cut_leader_off(stage: Stage) -> str:
    """Its clients too: they hear nothing, not even that the connection is gone."""
    leader = stage.leader()
    leader.machine.cut_off()
    stage.repairs.append(leader.machine.reconnect)
    return f"{leader.name} is cut off, {stage.wait_for_promotion(leader)} takes over"


def cut_leader_from_nodes(stage: Stage) -> str:
    """From etcd and its replicas alone: its clients reach it as before, and it takes their writes until its Patroni
    gives up. It acknowledges none, for no replica has them."""
    leader = stage.leader()
    others = [node.machine for node in stage.server.nodes if node is not leader]
    with closing(leader.connect()) as client:  # which would wait for the statement otherwise
        leader.machine.part_from(others)
        stage.repairs.append(lambda: leader.machine.rejoin(others))
        client.pgconn.send_query(b"select pg_logical_emit_message(true, 'chaos', 'heard by nobody else')")
        new = stage.wait_for_promotion(leader)
        assert not acknowledged(client.pgconn), f"{leader.name} acknowledged what no replica has"
    return f"{leader.name} is cut from the nodes alone, {new} takes over"


def acknowledged(connection: PGconn) -> bool:
    """Whether the statement that is under way has been answered with success."""
    try:
        connection.consume_input()
    except OperationalError:
        return False
    answer = None if connection.is_busy() else connection.get_result()
    return answer is not None and answer.status == ExecStatus.TUPLES_OK


def kill_leader_while_one_lags(stage: Stage) -> str:
    """Of the two that are left only the one in step has everything."""
    leader = stage.leader()
    [in_step, *_] = stage.server.in_step()
    lagging = next(node for node in stage.server.nodes if node not in (leader, in_step))
    lagging.signal("walreceiver", signal.SIGSTOP)
    stage.last(2.0, 3.0)
    leader.kill()
    stage.repairs.append(lambda: stage.server.start_patroni(leader))
    new = stage.wait_for_promotion(leader)
    lagging.signal("walreceiver", signal.SIGCONT)  # commits wait for it from here on: nobody else is left
    assert new == in_step.name, f"{new} was promoted, which lagged"
    return f"{lagging.name} lags, {leader.name} is killed, {new} takes over"


FAULTS: Mapping[str, Callable[[Stage], str]] = {
    "switch over": switch_over,
    "kill the leader": kill_leader,
    "cut the leader off": cut_leader_off,
    "cut from the nodes": cut_leader_from_nodes,
    "kill while one lags": kill_leader_while_one_lags,
}
