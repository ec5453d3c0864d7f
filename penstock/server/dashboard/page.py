"""What a page of the dashboard is: a path, a template of the same name as its function, and a function that gives the
template what it shows. `docs/project/changing.md` walks through adding one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from starlette.datastructures import QueryParams

from penstock.engine.commands.command import Command
from penstock.errors import InvalidInput
from penstock.operations import Operator
from penstock.server.dashboard.answers import FRESH, SharedAnswers
from penstock.server.dashboard.session import Session
from penstock.server.dependencies import Services

T = TypeVar("T")
Contents = Mapping[str, object]
"""What a template shows, by name."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a page is made from: who looks, what the address says, and what the database answers."""

    services: Services
    session: Session
    path: Mapping[str, str]
    query: QueryParams
    answers: SharedAnswers
    live: bool = False
    """It is looked at again because it is open somewhere: then an answer of this second will do."""

    @property
    def operator(self) -> Operator:
        """What whoever looks does by hand: each deed leaves a line that says who it was."""
        return self.services.app.operator(self.session.name)

    def text(self, name: str) -> str | None:
        """What the address says under this name; None when nothing."""
        return checked_text(name, self.query.get(name, "")) or None

    async def run(self, command: Command[T], *, good_for: float = FRESH) -> T:
        """Asks the engine. Pages that are open ask once a second together, not each for itself; what changes less often
        is `good_for` longer."""
        return await self.answers.run(command, fresh=not self.live and good_for <= FRESH, good_for=good_for)


def checked_text(name: str, text: str) -> str:
    """What the database would refuse without saying which it was."""
    if "\x00" in text:
        raise InvalidInput(name, f"must be text without NUL, not {text!r}")
    return text


Load = Callable[[Look], Awaitable[Contents]]
Record = Callable[[Look], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    title: str
    name: str
    load: Load
    icon: str | None = None
    """Of its place in the navigation; without one it has none."""
    under: str | None = None
    """The path of the page that it belongs to, which the navigation then marks."""
    record: Record | None = None
    """Puts on record that it is looked at, if that is worth a line, and says so: before it is shown, and before it is
    kept up to date for somebody who was not shown it."""

    @property
    def template(self) -> str:
        return f"{self.name}.html"


class Form(dict[str, str]):
    """What was sent with an action, by name; InvalidInput for what an action needs and was not sent."""

    def __missing__(self, name: str) -> str:
        raise InvalidInput(name, "is missing")

    def id(self, name: str) -> UUID:
        try:
            return UUID(self[name])
        except ValueError:
            raise InvalidInput(name, f"must be an id, not {self[name]!r}") from None

    def text(self, name: str) -> str | None:
        """None when nothing was entered."""
        return self.get(name, "").strip() or None

    def whole_number(self, name: str) -> int | None:
        text = self.text(name)
        try:
            return int(text) if text is not None else None
        except ValueError:
            raise InvalidInput(name, f"must be a whole number, not {text!r}") from None


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an action: said on the page that is shown next."""

    said: str
    to: str
    """A path of ours."""


Act = Callable[[Look, Form], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Action:
    path: str
    act: Act


@dataclass(slots=True)
class Section:
    """A module's pages and actions: `section = Section()`, then `@section.page(…)` and `@section.action(…)`."""

    pages: list[Page] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    def page(
        self, path: str, title: str, *, icon: str | None = None, under: str | None = None, record: Record | None = None
    ) -> Callable[[Load], Load]:
        """A page for everybody who has signed in. Blocks of its template whose names begin with `live_` are rendered
        anew while it is open, and replaced where the page has `data-live="…"` with the rest of the name."""

        def add(load: Load) -> Load:
            self.pages.append(Page(path, title, getattr(load, "__name__", ""), load, icon, under, record))
            return load

        return add

    def action(self, path: str) -> Callable[[Act], Act]:
        """What a form on a page does: POST, by operators only, with the form's token."""

        def add(act: Act) -> Act:
            self.actions.append(Action(path, act))
            return act

        return add
