"""Three nodes of Valkey that are a cluster. What they have acknowledged is on their disks."""

import subprocess
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from tests.kit.ports import free_port
from tests.kit.redis import start_valkey
from tests.kit.until import wait_until

_SLOTS = 16384


class Cluster:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ports = [free_port() for _ in range(3)]
        self._buses = {port: free_port() for port in self.ports}
        """Where nodes talk to each other."""
        self._nodes = [self._start(port) for port in self.ports]
        share = _SLOTS // 3
        bounds = [0, share, 2 * share, _SLOTS]
        for index, port in enumerate(self.ports):
            with Redis(port=port) as client:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[index], bounds[index + 1] - 1)
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", self.ports[0], self._buses[self.ports[0]])
        wait_until(lambda: all(self._agrees(port) for port in self.ports))

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.ports[0]}"

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        room = self._folder / str(port)
        room.mkdir(exist_ok=True)
        options = ["--cluster-enabled", "yes", "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        return start_valkey(
            port, [*options, "--cluster-node-timeout", "2000", "--cluster-port", str(self._buses[port])], room
        )

    def _agrees(self, port: int) -> bool:
        try:
            with Redis(port=port, decode_responses=True) as client:
                told = client.execute_command("CLUSTER INFO")
        except RedisError:
            return False
        return (told["cluster_state"], told["cluster_known_nodes"]) == ("ok", "3")

    def kill(self, index: int) -> None:
        self._nodes[index].kill()
        self._nodes[index].wait()

    def bring_back(self, index: int) -> None:
        self._nodes[index] = self._start(self.ports[index])

    def close(self) -> None:
        for node in self._nodes:
            node.kill()
            node.wait()
