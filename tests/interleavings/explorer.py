"""Runs programs of SQL on sessions of their own in every order of their statements, one order after the other.

A program is a generator: it yields a statement, is sent the rows, and yields the next; `commit` is a statement like any
other, so that what one session has done and not yet committed meets what all others do. A session that waits for a lock
has no next statement until it has got it. The tree of orders is walked depth first, from the beginning for each leaf,
which needs no copy of the database in between.

Inside a function, between its statements or between a statement's snapshot and its locks, a session stops where
interleavings.pause() is called: it waits for a lock that the explorer holds, and going on is a turn like any other.
"""

import select
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn

Rows = list[tuple[str | None, ...]]
Program = Generator[str, Rows, None]

COMMIT = "commit"
PAUSES = 8
"""At most so many for one session in one order."""
DIE = "rollback"
"""What is left of a session whose process is killed, or whose network is cut: nothing that it has not committed."""


PAUSE = """
    create schema interleavings;
    create function interleavings.pause() returns boolean language plpgsql as $$
    declare
      v_number int := coalesce(nullif(current_setting('interleavings.number', true), '')::int, 0) + 1;
    begin
      if current_setting('interleavings.pauses', true) = 'on' then
        perform set_config('interleavings.number', v_number::text, false);
        perform pg_advisory_xact_lock_shared(pg_backend_pid(), v_number);
      end if;
      return true;
    end
    $$
"""
"""Each pause of a session has a lock of its own: the explorer gives them up one by one."""


class Refused(Exception):
    """The database refused a statement: its program is told, and may go on after a rollback."""


@dataclass
class Session:
    """A connection and the program on it."""

    connection: psycopg.Connection[Any]
    program: Program
    asked: str | None = None
    running: bool = False
    paused: bool = False
    pauses: int = 0

    @property
    def _libpq(self) -> PGconn:
        return self.connection.pgconn

    @property
    def able(self) -> bool:
        """Whether there is something that it can do next."""
        return self.paused or (self.asked is not None and not self.running)

    def begin(self) -> None:
        if self._libpq.transaction_status != TransactionStatus.IDLE:
            self._libpq.exec_(b"rollback")
        for statement in ("set interleavings.pauses = 'on'; set interleavings.number = '0'", "begin"):
            self._libpq.exec_(statement.encode())
        self.asked = next(self.program, None)

    def send(self) -> None:
        assert self.asked is not None
        self._libpq.send_query(self.asked.encode())
        self.running = True

    def has_answer(self, within: float) -> bool:
        """Whether its statement has ended by now; then its program has moved on to the next."""
        if self._libpq.is_busy():
            select.select([self._libpq.socket], [], [], within)
            self._libpq.consume_input()
            if self._libpq.is_busy():
                return False
        self._take_answer()
        return True

    def _take_answer(self) -> None:
        rows: Rows = []
        error: Refused | None = None
        while answer := self._libpq.get_result():
            if answer.status == ExecStatus.FATAL_ERROR:
                error = Refused(answer.get_error_message())
            values = (
                (_text(answer.get_value(row, column)) for column in range(answer.nfields))
                for row in range(answer.ntuples)
            )
            rows = [tuple(each) for each in values]
        self.running = False
        ended = self.asked in (COMMIT, DIE)
        try:
            self.asked = self.program.send(rows) if error is None else self.program.throw(error)
        except StopIteration:
            self.asked = None
        if ended and self.asked is not None:
            self._libpq.exec_(b"begin")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


@dataclass(frozen=True)
class Order:
    """Which session had its turn, in their order, and what each said."""

    turns: tuple[int, ...]
    statements: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"  {turn}: {text}" for turn, text in zip(self.turns, self.statements, strict=True))


class Explorer:
    """Walks all orders; with `interruptions`, those in which no more transactions are interrupted by another session
    that could have waited: nearly every fault shows with one or two, and they are few."""

    def __init__(
        self,
        connections: Sequence[psycopg.Connection[Any]],
        observer: psycopg.Connection[Any],
        interruptions: int | None = None,
    ) -> None:
        self._connections = connections
        self._observer = observer
        observer.execute(PAUSE)
        self._pids = [connection.info.backend_pid for connection in connections]
        self._interruptions = interruptions
        self._given_up = [(pid, number) for pid in self._pids for number in range(1, PAUSES + 1)]
        """Locks of pauses that are not held: at first all of them."""

    def orders(self, start: Callable[[], Sequence[Program]]) -> Iterator[Order]:
        """One after the other, each once it has been run: look at the database before you ask for the next."""
        open_ends: list[tuple[int, ...]] = [()]
        known = set(open_ends)
        while open_ends:
            order, others = self._walk(start(), open_ends.pop())
            yield order
            open_ends += [other for other in others if other not in known]
            known.update(others)

    def _walk(self, programs: Sequence[Program], prefix: tuple[int, ...]) -> tuple[Order, list[tuple[int, ...]]]:
        sessions = [Session(*pair) for pair in zip(self._connections, programs, strict=False)]
        for session in sessions:
            session.begin()
        turns: list[int] = []
        statements: list[str] = []
        others: list[tuple[int, ...]] = []
        interruptions = 0
        self._hold_pauses()
        while able := [n for n, each in enumerate(sessions) if each.able]:
            # who is in the middle of something goes on, unless it is interrupted
            inside = [turns[-1]] if turns and turns[-1] in able and statements[-1] not in (COMMIT, DIE) else []
            if len(turns) < len(prefix) and prefix[len(turns)] in able:
                turn = prefix[len(turns)]
            else:
                # Or the same turns have led elsewhere: of two that wait for one transaction, either may be the first.
                may_interrupt = self._interruptions is None or interruptions < self._interruptions
                turn, *rest = inside + [each for each in able if each not in inside and (may_interrupt or not inside)]
                others += [(*turns, other) for other in rest]
            interruptions += bool(inside) and turn not in inside
            turns.append(turn)
            if sessions[turn].paused:
                statements.append("…")
                self._go_on(turn, sessions[turn])
            else:
                statements.append(str(sessions[turn].asked))
                sessions[turn].send()
            self._let_them_answer(sessions)
        stuck = [n for n, each in enumerate(sessions) if each.running]
        assert not stuck, f"sessions {stuck} wait for ever:\n{Order(tuple(turns), tuple(statements))}"
        return Order(tuple(turns), tuple(statements)), others

    def _hold_pauses(self) -> None:
        if self._given_up:
            locks = "select pg_advisory_lock(pid, number) from unnest(%s::int[], %s::int[]) as given (pid, number)"
            pids, numbers = zip(*self._given_up, strict=True)
            self._observer.execute(locks, [list(pids), list(numbers)])
            self._given_up.clear()

    def _go_on(self, number: int, session: Session) -> None:
        session.paused = False
        session.pauses += 1
        lock = self._pids[number], session.pauses
        self._observer.execute("select pg_advisory_unlock(%s, %s)", lock)
        self._given_up.append(lock)

    def _let_them_answer(self, sessions: Sequence[Session]) -> None:
        """Until each has answered, has paused or waits for another session's lock."""
        moved = True
        while moved:
            moved = False
            for number, session in enumerate(sessions):
                while session.running and not session.paused:
                    if session.has_answer(0.001):
                        moved = True
                    elif blockers := self._blockers(number):
                        session.paused = self._observer.info.backend_pid in blockers
                        moved = moved or session.paused
                        break

    def _blockers(self, number: int) -> list[int]:
        [(pids,)] = self._observer.execute("select pg_blocking_pids(%s)", [self._pids[number]]).fetchall()
        return list(pids)
