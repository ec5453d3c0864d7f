"""What things are called on either side: keys of queues, ids of jobs, priorities."""

from dataclasses import dataclass
from uuid import UUID, uuid5

_FOREIGN = UUID("7a1b7f0e-3a53-5d0a-9d52-0c6f6f5f0b41")
"""The namespace of ids that are not ours."""

_MIDDLE = 2**20
"""BullMQ's priority of a job whose priority is 0 here: its numbers go from 1 to 2²¹ - 1."""


@dataclass(frozen=True, slots=True)
class QueueKeys:
    """The keys of one queue. `queue` is its name here."""

    queue: str
    base: str

    def __getitem__(self, part: str) -> str:
        return self.base + part

    def all(self, *parts: str) -> list[str]:
        return [self.base + part for part in parts]

    def lock(self, id: str) -> str:
        return f"{self.base}{id}:lock"

    @property
    def name(self) -> str:
        """How BullMQ calls the queue, with its prefix: what a parent's children point to."""
        return self.base[:-1]


@dataclass(frozen=True, slots=True)
class Names:
    """In a cluster a queue's keys must share a slot, and different queues should not: there BullMQ's name of the queue
    `mail` is `{mail}`, unless the prefix has braces already."""

    prefix: str
    cluster: bool

    @property
    def spread(self) -> bool:
        return self.cluster and "{" not in self.prefix

    def queue(self, queue: str) -> QueueKeys:
        braces = self.spread and "{" not in queue
        return QueueKeys(queue, f"{self.prefix}:{{{queue}}}:" if braces else f"{self.prefix}:{queue}:")

    def place_of(self, key: str) -> tuple[str, str]:
        """The queue and the id of the job whose key it is."""
        base, _, id = key.rpartition(":")
        return queue_of_name(base, spread=self.spread), id

    def own(self, *parts: object) -> str:
        """A key of Penstock's own, beside those of BullMQ."""
        return ":".join(("penstock", self.prefix, *map(str, parts)))


def queue_of_name(name: str, *, spread: bool) -> str:
    """The queue that BullMQ calls so, with its prefix; `spread`: in braces of ours, if those are the only ones."""
    queue = name.partition(":")[2]
    inner = queue.removeprefix("{").removesuffix("}")
    return inner if spread and queue == f"{{{inner}}}" and not {"{", "}"} & set(inner) else queue


def uuid_of(queue: str, id: str) -> UUID:
    """Ours are UUIDs as they stand; any other id has one that follows from it and its queue."""
    if len(id) == 36:
        try:
            return UUID(id)
        except ValueError:
            pass
    return uuid5(_FOREIGN, f"{queue}\n{id}")


def as_v7(id: UUID, ms: int) -> UUID:
    """For engines that take no other id of a job: of another version, one that follows from it and the job's time."""
    if id.version == 7:
        return id
    return UUID(int=ms << 80 | 7 << 76 | (id.int >> 64 & 0xFFF) << 64 | 0b10 << 62 | id.int & 2**62 - 1)


def is_ours(id: UUID) -> bool:
    """Whether BullMQ knows the job by this very id."""
    return id.version != 5


def to_bullmq(priority: int) -> int:
    """Here the higher number goes first, there the lower one."""
    return min(max(_MIDDLE - priority, 1), 2 * _MIDDLE - 1)


def from_bullmq(priority: int) -> int:
    """0 is none there: such a job goes before all others."""
    return _MIDDLE - priority if priority else 0
