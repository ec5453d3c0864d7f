"""Pages that are open are looked at again, each once a second, and all of them together four times a second at most:
however many there are, they cost the database no more than that. Those who look at the same share one look."""

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from penstock.engine.loop import Loop
from penstock.server.dashboard.answers import SharedAnswers
from penstock.server.dashboard.page import Look, Page
from penstock.server.dashboard.render import render_regions
from penstock.server.dashboard.session import Session
from penstock.server.http.errors import problem_of
from penstock.storage.links import address

EVERY = 1.0
QUERIES = 4.0
"""A second."""
MOST = 2000
"""Different pages at a time."""


class View(NamedTuple):
    """What is looked at, by whom as far as that makes a difference, and where they see the server."""

    path: str
    query: str
    operates: bool
    here: str


class Contact(Enum):
    """How the last look at a page went."""

    GOOD = "good"
    AWAY = "away"
    """The database does not answer."""
    GONE = "gone"
    """There is no such page, or no more."""


class Watcher:
    """One open page. It holds the newest text of each region until it is asked for."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.left = False
        self.contact = Contact.GOOD
        self._news: dict[str, str] = {}
        self._something = asyncio.Event()

    def tell(self, contact: Contact, regions: Mapping[str, str]) -> None:
        self.contact = contact
        self._news.update(regions)
        self._something.set()

    def leave(self) -> None:
        self.left = True
        self._something.set()

    async def next(self, within: float) -> Mapping[str, str]:
        """Regions that are new; none when so many seconds have passed, or something else is."""
        try:
            async with asyncio.timeout(within):
                await self._something.wait()
        except TimeoutError:
            return {}
        self._something.clear()
        news, self._news = self._news, {}
        return news


class _Topic:
    def __init__(self) -> None:
        self.watchers: set[Watcher] = set()
        self.contact = Contact.GOOD
        self.regions: dict[str, str] = {}


FindPage = Callable[[str, str, Session], tuple[Page, Look, Mapping[str, Any]] | None]


class Live(Loop):
    name = "looking at open pages"

    def __init__(self, find: FindPage, answers: SharedAnswers) -> None:
        super().__init__()
        self._find = find
        self._answers = answers
        self._topics: dict[View, _Topic] = {}
        self._somebody = asyncio.Event()
        self._leaving = False

    @property
    def full(self) -> bool:
        return len(self._topics) >= MOST

    @property
    def watchers(self) -> int:
        return sum(len(topic.watchers) for topic in self._topics.values())

    def join(self, view: View) -> Watcher:
        topic = self._topics.setdefault(view, _Topic())
        watcher = Watcher(view)
        topic.watchers.add(watcher)
        if topic.regions or topic.contact is not Contact.GOOD:
            watcher.tell(topic.contact, topic.regions)
        if self._task is None:
            self.start()
        self._somebody.set()
        if self._leaving:
            watcher.leave()
        return watcher

    def part(self, watcher: Watcher) -> None:
        topic = self._topics.get(watcher.view)
        if topic is not None:
            topic.watchers.discard(watcher)
            if not topic.watchers:
                del self._topics[watcher.view]

    def leave(self) -> None:
        self._leaving = True
        for topic in self._topics.values():
            for watcher in topic.watchers:
                watcher.leave()

    async def aclose(self) -> None:
        self.leave()
        await self.stop()

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            self._somebody.clear()
            if not self._topics:
                await self._somebody.wait()
            began = clock()
            for view, topic in list(self._topics.items()):
                before = self._answers.count
                await self._look(view, topic)
                await asyncio.sleep((self._answers.count - before) / QUERIES)
            await asyncio.sleep(max(0.0, began + EVERY - clock()))

    async def _look(self, view: View, topic: _Topic) -> None:
        if not topic.watchers:
            return
        contact, regions = await self.look_at(view)
        changed = {name: text for name, text in regions.items() if topic.regions.get(name) != text}
        if not changed and contact is topic.contact:
            return
        topic.regions |= changed
        topic.contact = contact
        for watcher in list(topic.watchers):
            watcher.tell(contact, changed)

    async def look_at(self, view: View) -> tuple[Contact, Mapping[str, str]]:
        """How that went, and what there is to see in each region."""
        found = self._find(view.path, view.query, _anybody(operates=view.operates))
        if found is None:
            return Contact.GONE, {}
        page, look, around = found
        token = address.set(view.here)
        try:
            return Contact.GOOD, render_regions(page.template, {**around, **await page.load(look)})
        except Exception as error:
            return Contact.GONE if problem_of(error).status < 500 else Contact.AWAY, {}
        finally:
            address.reset(token)


def _anybody(*, operates: bool) -> Session:
    """Regions are the same for all who may do the same."""
    return Session("", "operator" if operates else "viewer", 0, "")
