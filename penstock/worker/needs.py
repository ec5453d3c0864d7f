"""What an application needs of the engine that it is run on: refused by name before the first job."""

from penstock.engine.protocol import Engine
from penstock.errors import EngineCannot
from penstock.kinds import Registry


def check_needs(engine: Engine, registry: Registry) -> None:
    """What can be seen without running a handler; the engine refuses the rest when it is asked for."""
    can = engine.capabilities
    for kind, handler in registry.handlers.items():
        if handler.options.users and not can.users:
            raise EngineCannot(
                "users",
                f"users may start {kind!r}, and jobs in Redis have no users: keep it in Postgres",
            )
        if handler.options.quota and not can.quotas:
            raise EngineCannot(
                "quotas", f"{kind!r} counts against a quota, which Redis does not: use max_running of its queue"
            )
    for schedule in registry.schedules:
        if schedule.catch_up != "one" and not can.catch_up:
            raise EngineCannot(
                "catch_up",
                f"schedule {schedule.name!r} has catch_up={schedule.catch_up!r}: BullMQ runs a job that is late "
                "once, which is catch_up='one'",
            )
