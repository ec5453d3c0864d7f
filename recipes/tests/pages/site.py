"""All four recipes in one application, served with a worker; their providers are quick."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bookmarks import sites
from calls.providers import Clerk
from penstock import Backoff, Penstock
from penstock.server.auth.development import ORG, SignIn
from penstock_recipes import bookmarks, calls, exports, readings
from penstock_recipes.calls.providers.analysis.offline import OfflineAnalyst
from penstock_recipes.calls.providers.transcription import AudioSource, Segment, Transcript
from readings.people import ShortWriter
from shared.asking import migrated
from tests.kit.serving import Served
from tests.kit.working import working

SAID = (
    Segment(0.0, 0.4, 1, "good morning what can i do for you"),
    Segment(0.5, 0.9, 2, "my order has not arrived"),
    Segment(1.0, 1.4, 1, "it will be there tomorrow"),
)


class Typist(Clerk):
    """Hears the same in every recording."""

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        return Transcript("en", 1.5, "typist", SAID)


@dataclass(frozen=True)
class Site:
    served: Served
    sign_in: SignIn
    website: sites.Site
    """To be bookmarked."""
    files: Path

    def link(self, path: str) -> str:
        """As `penstock up` prints it."""
        return self.sign_in.link(self.served.address + path)


@asynccontextmanager
async def site(url: str, files: Path) -> AsyncIterator[Site]:
    async with Penstock(url, artifacts=files) as app, sites.serving() as website:
        exports.install(app)
        readings.install(app, text=ShortWriter(), chapters=2, backoff=Backoff.constant(0.01))
        bookmarks.install(app, allow=["127.0.0.1"], budget=400)  # a machine that has other work may be slow
        calls.install(app, transcriber=Typist(), analyst=OfflineAnalyst(), poll_interval=0.01)
        async with migrated(app, sign_in=True) as server, working(app, dict.fromkeys(app.queue_names, 4)):
            sign_in = server.server.sign_in
            assert sign_in is not None
            assert sign_in.org == ORG
            yield Site(server, sign_in, website, files)
