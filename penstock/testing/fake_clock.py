"""The engine's time in the hands of a test."""

from datetime import UTC, datetime, timedelta
from importlib.resources import files

from penstock.app import Penstock
from penstock.errors import InvalidInput
from penstock.sql import render

_in_force: dict[tuple[str, str], "FakeClock"] = {}


class FakeClock:
    """Stops the engine's time in the app's database, for every connection of every process; `with` restores it.

    A transaction that is under way may keep the time it had.

    It replaces the function penstock.clock(). A setting of the database would need a superuser, and would not reach
    connections that are open already: a worker's, or those of a handler's process.

    ```python
    from penstock.testing import FakeClock, drain

    with FakeClock(app) as clock:
        greet.using(delay=3600).enqueue("Ada")
        assert drain(app) == []
        clock.move(hours=1)
        assert [run.state for run in drain(app)] == ["succeeded"]
    ```
    """

    def __init__(self, app: Penstock, start: datetime | None = None) -> None:
        self._app = app
        self._now = _with_time_zone(start or datetime.now(UTC))
        self._place: tuple[str, str] | None = None

    @property
    def now(self) -> datetime:
        """What the engine takes for the time."""
        return self._now

    def set(self, now: datetime) -> datetime:
        """Stops the time at this moment."""
        self._now = _with_time_zone(now)
        self._replace("clock_timestamp()", f"timestamptz '{self._now.isoformat()}'")
        if self._place is None:
            self._place = _place_of(self._app)
            _in_force[self._place] = self
        return self._now

    def move(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
        """Lets so much time pass."""
        return self.set(self._now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds))

    def restore(self) -> None:
        """Back to the real time."""
        if self._place is not None:
            _in_force.pop(self._place, None)
            self._place = None
            self._replace()

    def _replace(self, what: str = "", by: str = "") -> None:
        text = render(
            (files("penstock.sql") / "functions" / "support" / "clock.sql").read_text("utf-8"),
            self._app.database.schema,
        )
        with self._app.database.pools.sync().connection() as connection:
            connection.execute(text.replace(what, by).encode() if what else text.encode())

    def __enter__(self) -> "FakeClock":
        self.set(self._now)
        return self

    def __exit__(self, *exception: object) -> None:
        self.restore()


def clock_of(app: Penstock) -> FakeClock | None:
    """The fake clock of the app's database, whoever set it."""
    return _in_force.get(_place_of(app))


def _place_of(app: Penstock) -> tuple[str, str]:
    return app.url(), app.database.schema


def _with_time_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise InvalidInput("now", "needs a time zone, e.g. datetime(2030, 1, 1, tzinfo=UTC)")
    return moment.astimezone(UTC)
