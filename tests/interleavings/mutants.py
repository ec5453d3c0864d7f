"""Ways to break the engine that look as if they would do: in each, one order of statements does what it must not."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    name: str
    function: str
    without: str
    scenario: str
    instead: str = ""

    def text(self, functions: Path) -> str:
        text = (functions / f"{self.function}.sql").read_text()
        assert self.without in text, f"{self.function} no longer has: {self.without}"
        return text.replace(self.without, self.instead)


MUTANTS = [
    Mutant(
        "a report is believed whoever sends it",
        "api/complete",
        " and lease = p_lease",
        "a late worker a reclaim and another worker",
    ),
    Mutant(
        "a report is believed whichever run it is about",
        "api/complete",
        "and claims = v_claims and lease",
        "the same report twice and a snooze between",
        "and lease",
    ),
    Mutant(
        "a reclaim does not look again once it has the locks",
        "api/reclaim",
        "if cardinality(v_leases) > 0 then\n    -- without",
        "a heartbeat and a reclaim at the last moment",
        "if false then\n    -- without",
    ),
    Mutant(
        "a claim does not hold on to its lease",
        "api/claim",
        "perform from penstock.leases where id = p_lease for key share;",
        "a worker that leaves while it claims",
        "perform from penstock.leases where id = p_lease;",
    ),
    Mutant(
        "a job is handed to a lease that nobody holds on to",
        "wake/hand_to",
        "for key share of l skip locked",
        "a job that is handed to a worker that leaves",
    ),
    Mutant(
        "an event is emitted while somebody comes to wait",
        "events/lock_mailbox",
        "insert into penstock.mailboxes",
        "an event another and a job that comes to wait",
        "return; insert into penstock.mailboxes",
    ),
    Mutant(
        "limits are counted by two at once",
        "claim/lock_limits",
        "perform penstock.lock('limits ' || p_queue);",
        "two claims under a limit",
    ),
    Mutant(
        "an enqueue tells no worker that waits",
        "api/enqueue_plain",
        "elsif v_waited then",
        "a plain job while a worker goes to sleep",
        "elsif false then",
    ),
    Mutant(
        "flows are not locked before their jobs",
        "flows/lock_flows",
        "if v_flows is not null then",
        "a flow that is cancelled while its children fail",
        "if false then",
    ),
]
