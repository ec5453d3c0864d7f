"""What an application needs of the engine that it is run on: refused by name before the first job."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches

from penstock.engine.protocol import Capabilities, Engine
from penstock.errors import EngineCannot, InvalidInput
from penstock.kinds import Registry

CAPABILITIES = [each.name for each in fields(Capabilities)]


def checked_needs(needs: Iterable[str]) -> tuple[str, ...]:
    named = (needs,) if isinstance(needs, str) else tuple(needs)
    for name in named:
        if name not in CAPABILITIES:
            close = get_close_matches(name, CAPABILITIES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(CAPABILITIES)}"
            raise InvalidInput("needs", f"no engine has {name!r}: {hint}")
    return named


def check_needs(engine: Engine, registry: Registry) -> None:
    """What is said, and what is seen without running a handler; the engine refuses the rest when it is asked for."""
    can = engine.capabilities
    for name in registry.needs:
        if not getattr(can, name):
            raise EngineCannot(
                name,
                f"the application needs {name!r} (app.need), which is not there where it has its jobs: "
                "give it an engine that can, as Postgres is, or take it out if it does without",
            )
    for kind, options in registry.startable:
        if options.users and not can.users:
            raise EngineCannot(
                "users",
                f"users may start {kind!r}, and jobs in Redis have no users: keep it in Postgres",
            )
        if options.quota and not can.quotas:
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
