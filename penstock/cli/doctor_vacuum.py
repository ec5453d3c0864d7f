"""What `penstock doctor` finds that keeps dead rows: sessions, prepared transactions, replication slots and standbys
that hold vacuum back, and the tables where it shows."""

from collections.abc import Iterator

from penstock.app import Penstock
from penstock.cli.doctor_database import Connection, Finding, one
from penstock.logs import counted

OLD_SNAPSHOT = 600
"""Seconds that a transaction may be open."""
HELD_BACK = 100_000
"""Transactions that a slot or a standby may be behind, of whose age nothing else is known."""
RETAINED = 1 << 30
"""Bytes of WAL that a slot may keep."""
DEAD_ROWS = 100_000
"""Of a table, and more than it has live ones: autovacuum does not keep up with it, or may not."""


def look(app: Penstock, connection: Connection) -> Iterator[Finding]:
    found = [finding for check in (_snapshots, _hidden, _prepared, _slots, _standbys) for finding in check(connection)]
    yield from found or [Finding("ok", "vacuum", "nothing holds it back")]
    yield from _bloat(app, connection)


def _snapshots(connection: Connection) -> Iterator[Finding]:
    """One that has written holds it back by its own number, also between two statements, when it has no snapshot."""
    rows = connection.execute(
        """select pid, coalesce(nullif(application_name, ''), 'somebody'),
                  extract(epoch from now() - xact_start)::float
             from pg_stat_activity
            where coalesce(backend_xmin, backend_xid) is not null
              and backend_type not in ('autovacuum worker', 'walsender')
              and datname = current_database() and pid <> pg_backend_pid()
              and now() - xact_start > make_interval(secs => %s)
            order by xact_start limit 5""",
        [OLD_SNAPSHOT],
    )
    for pid, name, seconds in rows.fetchall():
        text = (
            f"{name} (pid {pid}) has had a transaction open for {seconds / 60:.0f} min: nothing is cleaned up meanwhile"
        )
        yield Finding("warning", "snapshots", text, f"end it if it is forgotten: select pg_terminate_backend({pid})")


def _hidden(connection: Connection) -> Iterator[Finding]:
    """Of sessions of other logins not even their kind is shown to whoever may not read statistics."""
    hidden = one(
        connection,
        "select count(*) from pg_stat_activity where datname = current_database() and backend_type is null",
    )
    if hidden:
        login = connection.info.user
        text = f"{login} may not see since when {counted(hidden, 'session')} of other logins had a transaction open"
        yield Finding("warning", "sessions", text, f"as an administrator: grant pg_read_all_stats to {login}")


def _prepared(connection: Connection) -> Iterator[Finding]:
    """Without a session: they outlive a restart, and keep their locks too."""
    rows = connection.execute(
        """select quote_literal(gid), owner, extract(epoch from now() - prepared)::float
             from pg_prepared_xacts
            where database = current_database() and now() - prepared > make_interval(secs => %s)
            order by prepared limit 5""",
        [OLD_SNAPSHOT],
    )
    for name, owner, seconds in rows.fetchall():
        text = f"transaction {name} of {owner} was prepared {seconds / 60:.0f} min ago, and nothing is cleaned up since"
        yield Finding("warning", "prepared", text, f"as {owner}: commit prepared {name}, or rollback prepared {name}")


def _slots(connection: Connection) -> Iterator[Finding]:
    rows = connection.execute(
        """select slot_name, slot_type, active_pid, behind, retained, pg_size_pretty(retained), age(xmin) is not null
             from pg_replication_slots,
                  lateral (select greatest(age(xmin), age(catalog_xmin)),
                                  pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) as kept (behind, retained)
            where wal_status is distinct from 'lost' and (behind > %s or retained > %s)
            order by behind desc nulls last, slot_name limit 5""",
        [HELD_BACK, RETAINED],
    )
    for name, kind, pid, behind, retained, size, of_tables in rows.fetchall():
        kept = []
        if (behind or 0) > HELD_BACK:
            where = "dead rows" if of_tables else "dead rows of the system's catalogs"
            kept.append(f"{where} of the last {behind:,} transactions")
        if (retained or 0) > RETAINED:
            kept.append(f"{size} of WAL")
        user = f"used by pid {pid}" if pid else "used by nobody"
        text = f"the {kind} slot {name}, {user}, keeps {' and '.join(kept)}"
        if not pid:
            advice = f"have its standby or subscriber go on, or: select pg_drop_replication_slot('{name}')"
        elif kind == "physical":
            advice = "end what runs long on the standby, or set hot_standby_feedback = off there; or has it no network?"
        else:
            advice = "its subscriber is behind: look into its log"
        yield Finding("warning", "slots", text, advice)


def _standbys(connection: Connection) -> Iterator[Finding]:
    """What a standby without a slot says of its own queries: hot_standby_feedback."""
    rows = connection.execute(
        """select pid, coalesce(nullif(application_name, ''), 'somebody'), age(backend_xmin)
             from pg_stat_replication where age(backend_xmin) > %s order by 3 desc limit 5""",
        [HELD_BACK],
    )
    for pid, name, behind in rows.fetchall():
        text = f"a query on the standby {name} (pid {pid}) keeps dead rows of the last {behind:,} transactions"
        yield Finding("warning", "standbys", text, "end it there, or set hot_standby_feedback = off there")


def _bloat(app: Penstock, connection: Connection) -> Iterator[Finding]:
    rows = connection.execute(
        """select format('%%I.%%I', schemaname, relname), n_dead_tup, n_live_tup,
                  coalesce(to_char(greatest(last_vacuum, last_autovacuum), 'YYYY-MM-DD HH24:MI'), 'never')
             from pg_stat_all_tables
            where schemaname = %s and n_dead_tup > %s and n_dead_tup > n_live_tup
            order by n_dead_tup desc limit 5""",
        [app.database.schema, DEAD_ROWS],
    )
    for table, dead, live, at in rows.fetchall():
        text = f"{table} has {dead:,} dead rows beside {live:,}, last vacuumed: {at}"
        yield Finding("warning", "bloat", text, f"end what is told of here to hold vacuum back; then: vacuum {table}")
