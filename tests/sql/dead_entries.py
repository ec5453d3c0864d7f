"""Jobs that came and went while somebody's old snapshot was open: their rows and index entries are still there, dead,
and no vacuum may remove them."""

from datetime import UTC, datetime
from typing import Any

from penstock.engine import commands
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.sql.work import cursor_that_looks_back_once

BATCH = 1_000
"""So many jobs come to a queue within a second."""
KEYS = 5
"""Of so many keys, owners and priorities."""
ONE_KEY = BATCH // KEYS

QUEUES: dict[str, dict[str, Any]] = {
    "plain": {},
    "urgent": {},
    "later": {},
    "limited": {"max_running": 2 * BATCH},
    "keyed": {"max_running_per_key": BATCH},
    "rated": {"rate": 1_000_000, "rate_period": 1},
    "fair": {"fair_by": "owner"},
    "held": {"max_running_per_key": 1},
    "quota": {},
}
_HELD = 250
"""So many jobs of one key, and of one owner, come before all others; one of them runs, and the rest may not start. More
than a claim looks at before it visits every key."""
SINGLES = ("fair", "rated")
"""Queues that have rows about turns or starts, which are written for every job."""
_NO_AUTOVACUUM = """
select format('alter table %s set (autovacuum_enabled = false)', oid::regclass)
  from pg_class where relnamespace = 'penstock'::regnamespace and relkind = 'r'
"""

_SINGLY = """
do $$
declare
  v_start timestamptz := penstock.clock();
  v_queue text;
begin
  for i in 1 .. {jobs} loop
    perform set_config('penstock_clock.now', (v_start + i * interval '50 milliseconds')::text, false);
    foreach v_queue in array '{{{queues}}}'::text[] loop
      perform penstock.wait_for_work({lease}, array[v_queue], p_direct => true);
      commit;
      perform penstock.stop_waiting({lease}, array[v_queue]);
      commit;
      perform penstock.enqueue_plain(penstock.uuid7(), 'work', p_queue => v_queue, p_owner => 'key 1');
      commit;
      perform penstock.complete({lease}, array_agg(id), array_agg(claims)) from penstock.claim({lease}, v_queue, 1);
      commit;
    end loop;
    if i % 20 = 0 then
      perform penstock.extend_lease({lease});
      commit;
      perform penstock.tend({lease});
      commit;
    end if;
  end loop;
end
$$
"""


class Flow:
    """Jobs flow through queues of every sort, at a time of their own."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        for (statement,) in hand.rows(_NO_AUTOVACUUM):
            hand.do(statement)
        hand.set_clock(datetime.now(UTC))
        for queue, settings in QUEUES.items():
            hand.set_queue(queue, **settings)
        hand.run(commands.SetQuota("wide", {"running": BATCH}))
        hand.run(commands.SetQuota("narrow", {"running": 1}))
        # they outlast all the others
        hand.add("long", queue="plain")
        hand.enqueue_many(held_job(), _HELD)
        hand.enqueue_many(NewJob(kind="long", queue="quota", owner="held", quota="narrow"), _HELD)
        busy = hand.worker("busy", seconds=86_400)
        for queue in ("plain", "held", "quota"):
            assert len(busy.claim(BATCH, queue)) == 1
        hand.run(commands.WaitForWork(busy.lease, ["rated"]))
        self.worker = hand.worker(seconds=86_400)
        self.worker.cursors |= {queue: cursor_that_looks_back_once() for queue in QUEUES}

    def go_on(self, jobs: int) -> None:
        """So many jobs more go through each queue; once a second the leading worker tends them."""
        for _ in range(jobs // BATCH):
            for queue in QUEUES:
                self._arrive(queue)
            self.hand.move_clock(seconds=1)
            self.hand.run(commands.ExtendLease(self.worker.lease))
            self.hand.run(commands.Tend(self.worker.lease))
            for queue in QUEUES:
                self.work_off(queue)
        self._come_to_rest()

    def _arrive(self, queue: str) -> None:
        if queue == "held":
            self.hand.enqueue(*[new_job(queue, number) for number in range(BATCH)])
        else:
            for number in range(KEYS):
                self.hand.enqueue_many(new_job(queue, number), ONE_KEY)

    def work_off(self, queue: str) -> None:
        """At 5,000 jobs a second. A worker at ease looks everywhere each time."""
        cursor = self.worker.cursors[queue]
        while claimed := self.worker.claim(BATCH // 2, queue, cursor=cursor, full=True):
            assert self.worker.complete(*claimed) == []
            self.hand.move_clock(seconds=0.1)

    def go_on_singly(self, jobs: int) -> None:
        """So many jobs more come one at a time, twenty a second."""
        self.hand.do(_SINGLY.format(jobs=jobs, lease=self.worker.lease, queues=",".join(SINGLES)))
        self.hand.move_clock(seconds=jobs / 20)
        for queue in SINGLES:
            # whose cursor has not moved meanwhile
            self.hand.enqueue(new_job(queue))
            self.work_off(queue)
        self._come_to_rest()

    def _come_to_rest(self) -> None:
        """A few seconds in which workers look, and no test beside this one has a transaction that goes on."""
        for _ in range(3):
            self.hand.let_others_end()
            self.hand.move_clock(seconds=1)
            self.hand.run(commands.Tend(self.worker.lease))
            for queue in QUEUES:
                self.work_off(queue)
        self.hand.run(commands.Maintain())


def held_job() -> NewJob:
    """One of a key that runs as many as it may."""
    return NewJob(kind="long", queue="held", limit_key="held")


def new_job(queue: str, number: int = 0) -> NewJob:
    """A job as they come to the queue: the keys, owners and priorities go round."""
    key = f"key {number % KEYS}"
    match queue:
        case "urgent":
            return NewJob(kind="work", queue=queue, priority=number % KEYS)
        case "later":
            return NewJob(kind="work", queue=queue, delay=0.5)
        case "keyed":
            return NewJob(kind="work", queue=queue, limit_key=key)
        case "held":
            return NewJob(kind="work", queue=queue, limit_key=f"key {number}")
        case "fair":
            return NewJob(kind="work", queue=queue, owner=key)
        case "quota":
            return NewJob(kind="work", queue=queue, owner=key, quota="wide")
        case _:
            return NewJob(kind="work", queue=queue)
