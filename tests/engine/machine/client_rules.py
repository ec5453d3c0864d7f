"""What clients and operators do to the engine."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from penstock.engine import commands
from penstock.errors import InvalidInput, UniqueKeyTaken, UnknownJob
from penstock.job import NewJob
from tests.engine.machine.model import CANCELLED, FAILED, SUCCEEDED
from tests.engine.machine.shapes import QUEUES, Tree, budgets, kinds, limit_keys, queues, trees
from tests.engine.machine.world import CLIENTS, World, pick
from tests.engine.sizes import sized

indexes = st.integers(0, 1000)
clients = st.integers(0, CLIENTS - 1)
unique_keys = st.sampled_from((None, None, "u1", "u2"))


class ClientRules(World):
    @rule(
        client=clients,
        kind=kinds,
        queue=queues,
        limit_key=limit_keys,
        unique_key=unique_keys,
        priority=st.integers(-1, 1),
        delay=st.sampled_from((0, 0, 5, 60)),
        max_attempts=budgets,
        max_snoozes=st.sampled_from((None, 0, 2)),
        after=st.lists(indexes, max_size=2),
        large=st.booleans(),
    )
    def enqueue(
        self,
        client: int,
        kind: str,
        queue: str,
        limit_key: str | None,
        unique_key: str | None,
        priority: int,
        delay: int,
        max_attempts: int,
        max_snoozes: int | None,
        after: list[int],
        large: bool,
    ) -> None:
        awaited = self._some(after)
        job = NewJob(
            kind=kind,
            queue=queue,
            limit_key=limit_key,
            unique_key=unique_key,
            priority=priority,
            run_at=self.model.now + timedelta(seconds=delay) if delay else None,
            max_attempts=max_attempts,
            max_snoozes=max_snoozes,
            after=awaited,
        )
        self._enqueue(client, [sized(job, large=large)])

    @rule(
        client=clients,
        tree=trees,
        unique_key=unique_keys,
        after=st.lists(indexes, max_size=1),
        large=st.lists(st.booleans(), min_size=1, max_size=4),
    )
    def enqueue_flow(
        self, client: int, tree: Tree, unique_key: str | None, after: list[int], large: list[bool]
    ) -> None:
        jobs = tree.build(unique_key, self._some(after)).jobs()
        self._enqueue(client, [sized(job, large=pick(large, place)) for place, job in enumerate(jobs)])

    def _some(self, indexes: list[int]) -> tuple[UUID, ...]:
        known = [*self.model.rows, *self.model.purged]
        return tuple(dict.fromkeys(pick(known, index) for index in indexes)) if known else ()

    def _enqueue(self, client: int, jobs: list[NewJob]) -> None:
        hand, first = self.clients[client], jobs[0]
        if refusals := self._refusals(first.after):
            with pytest.raises((InvalidInput, UnknownJob)) as refused:
                hand.enqueue(*jobs)
            assert refused.type in refusals
            return
        holder = self.model.holder_of(first.kind, first.unique_key)
        enqueued = hand.enqueue(*jobs)
        assert {each.created for each in enqueued} == {holder is None}
        assert enqueued[0].id == (holder or first).id
        if holder is None:
            self.model.enqueue(jobs)

    def _refusals(self, awaited: tuple[UUID, ...]) -> set[type[Exception]]:
        """Why no job may wait for these."""
        refusals: set[type[Exception]] = set()
        for id in awaited:
            if id not in self.model.rows:
                refusals.add(UnknownJob)
            elif self.model.rows[id].state in (FAILED, CANCELLED):
                refusals.add(InvalidInput)
        return refusals

    @precondition(lambda self: self.model.live_rows())
    @rule(client=clients, indexes=st.lists(indexes, min_size=1, max_size=2))
    def cancel(self, client: int, indexes: list[int]) -> None:
        ids = list({pick(list(self.model.rows), index) for index in indexes})
        reached = self.clients[client].run(commands.Cancel(ids))
        assert set(reached) == {id for id in ids if self.model.rows[id].live}
        self.model.cancel(ids)

    @precondition(lambda self: self.model.by_state(FAILED, CANCELLED))
    @rule(client=clients, indexes=st.lists(indexes, min_size=1, max_size=2), queue=st.sampled_from((None, *QUEUES)))
    def retry(self, client: int, indexes: list[int], queue: str | None) -> None:
        ids = [pick(self.model.by_state(FAILED, CANCELLED), index).id for index in indexes]
        revived = self.model.revived_by_retry(ids)
        hand = self.clients[client]
        if revived is None:
            with pytest.raises(UniqueKeyTaken):
                hand.run(commands.Retry(ids, queue))
            return
        assert hand.run(commands.Retry(ids, queue)) == [row.id for row in revived]
        self.model.retry(revived, queue)
        self.may_go_back = True

    @precondition(lambda self: self.model.by_state(SUCCEEDED, FAILED, CANCELLED))
    @rule(client=clients, indexes=st.lists(indexes, min_size=1, max_size=3))
    def purge(self, client: int, indexes: list[int]) -> None:
        rows = {row.id: row for row in (pick(list(self.model.rows.values()), index) for index in indexes)}
        filter = {"ids": list(rows), "state": ["succeeded", "failed", "cancelled"]}
        assert self.clients[client].run(commands.PurgeWhere(filter)) == self.model.purge(rows.values())

    @rule(client=clients, queue=queues, paused=st.booleans())
    def pause_or_resume(self, client: int, queue: str, paused: bool) -> None:
        self.lanes[queue].paused = paused
        self.clients[client].run(commands.SetQueue(queue, {"paused": paused}))

    @rule(client=clients, more=st.booleans())
    def widen_or_narrow(self, client: int, more: bool) -> None:
        lane = self.lanes["narrow"]
        running = [row for row in self.model.live_rows() if row.queue == lane.name and row.lease is not None]
        lane.max_running = max(len(running), 4 if more else 1)
        self.clients[client].run(commands.SetQueue(lane.name, {"max_running": lane.max_running}))
