"""What an application has no handler of any more, users cannot start."""

from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from tests.kit.fixtures import Connect


def test_a_kind_that_was_removed_is_closed_in_sql_too(engine: PostgresEngine, connect: Connect) -> None:
    def opened() -> set[str]:
        return {kind for (kind,) in connect().execute("select kind from penstock.kinds").fetchall()}

    def declare(*kinds: str, more: tuple[str, ...] = ()) -> None:
        engine.run(commands.DeclareKinds([{"kind": kind, "template": {}} for kind in kinds], [*kinds, *more]))

    declare("export", "old", more=("internal",))
    declare("of another", "more of it")
    declare("export", more=("internal",))
    assert opened() == {"export", "of another", "more of it"}
    # a worker of the version before still runs it: the deploy is under way
    declare("export", "old", more=("internal",))
    lease = connect().execute("select penstock.open_lease('worker')").fetchall()[0][0]
    connect().execute("update penstock.leases set kinds = '{export,old}' where id = %s", [lease])
    declare("export", more=("internal",))
    assert "old" in opened()
    connect().execute("select penstock.close_lease(%s)", [lease])
    declare("export", more=("internal",))
    assert opened() == {"export", "of another", "more of it"}
    # and one that is still there, but not open to users any more
    declare("internal", more=("export",))
    assert opened() == {"internal", "of another", "more of it"}
    # an application that has got all its kinds from new looks like another; somebody says that they are gone
    declare("renamed")
    assert opened() == {"internal", "of another", "more of it", "renamed"}
    connect().execute("select penstock.declare_kinds('[]', '{of another, more of it}')")
    assert opened() == {"internal", "renamed"}
