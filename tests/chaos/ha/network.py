"""Three machines on one: a network namespace each, on a bridge where everybody else is. Only root can make them."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

BRIDGE = "pk-ha"
US = "10.213.77.1"


NOBODY = "02:00:00:00:00:01"
"""The address of a card that no machine has."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@dataclass(frozen=True)
class Machine:
    number: int

    @property
    def name(self) -> str:
        return f"{BRIDGE}-{self.number}"

    @property
    def address(self) -> str:
        return f"10.213.77.{10 + self.number}"

    @property
    def _wire(self) -> str:
        return f"{BRIDGE}-w{self.number}"

    def plug_in(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self._wire, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self._wire, "master", BRIDGE, "up")
        for words in (
            ("addr", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("-n", self.name, *words)

    def cut_off(self) -> None:
        """From everybody: packets vanish, and nobody is told."""
        ip("link", "set", self._wire, "down")

    def reconnect(self) -> None:
        ip("link", "set", self._wire, "up")

    def part_from(self, others: Iterable["Machine"]) -> None:
        """Neither hears the other any more, and nobody is told; whoever else is on the bridge hears them all."""
        for one, other in self._ways(others):
            ip("-n", one.name, "neigh", "replace", other.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def rejoin(self, others: Iterable["Machine"]) -> None:
        for one, other in self._ways(others):
            ip("-n", one.name, "neigh", "del", other.address, "dev", "eth0")

    def _ways(self, others: Iterable["Machine"]) -> Iterator[tuple["Machine", "Machine"]]:
        for other in others:
            yield self, other
            yield other, self

    def unplug(self) -> None:
        # both: a namespace lives on while a process does in it
        for words in (("link", "del", self._wire), ("netns", "del", self.name)):
            with suppress(subprocess.CalledProcessError):
                ip(*words)


@contextmanager
def network(machines: int) -> Iterator[list[Machine]]:
    made = [Machine(number) for number in range(1, machines + 1)]
    _remove(made)  # of a run that was killed
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("addr", "add", f"{US}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for machine in made:
            machine.plug_in()
        yield made
    finally:
        _remove(made)


def _remove(machines: list[Machine]) -> None:
    for machine in machines:
        machine.unplug()
    with suppress(subprocess.CalledProcessError):
        ip("link", "del", BRIDGE)
