"""A Chromium process with as few rights as can be had, of which nothing is left in the end."""

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from penstock.sandbox import Limits, random_account, started, work_folder
from penstock_recipes.bookmarks.providers.browser.devtools import DevTools, Gone
from penstock_recipes.bookmarks.providers.browser.executable import NoBrowser

log = logging.getLogger(__name__)

# a page's memory: V8's heap, and with it everything that one process may hold
HEAP_MB = 512
LIMITS = Limits(wall=120, memory=2 * 1024**3, file_size=100 * 1024**2)
PROCESSES = 1000
"""With their threads, of which Chromium has about a hundred."""
MAX_MESSAGE = 64 * 1024 * 1024
_ABANDONED = 3600
"""Seconds; far longer than anybody looks at a page."""
_tried: dict[str, bool] = {}

# What Playwright would start differs: it is made to test one's own pages, and so turns off the protection against
# floods of messages and of windows, and the watch over pages that hang.
_ALWAYS = (
    "--headless", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run", "--no-default-browser-check",
    # nothing but the page's own requests
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--disable-domain-reliability", "--disable-breakpad", "--no-pings",
    "--disable-features=HttpsUpgrades,MediaRouter,OptimizationHints,Translate,NetworkTimeServiceQuerying",
    # loopback too is asked of the proxy; no UDP past it (the headless shell knows one of the two switches, Chromium
    # the other), no name looked up by the browser
    "--proxy-bypass-list=<-loopback>", "--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # one page, one process for it: a profile that lives for seconds has no other site's secrets to keep from it
    "--disable-site-isolation-trials", "--renderer-process-limit=1", f"--js-flags=--max-old-space-size={HEAP_MB}",
    "--block-new-web-contents", "--deny-permission-prompts", "--disable-notifications", "--mute-audio",
    # the same picture everywhere, and no graphics driver between a stranger's page and this machine
    "--disable-gpu", "--disable-3d-apis", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--force-color-profile=srgb", "--force-device-scale-factor=1", "--password-store=basic", "--lang=en-US",
)  # fmt: skip


@asynccontextmanager
async def running_chromium(executable: str, *more: str) -> AsyncIterator[DevTools]:
    """A browser of one's own, killed with all its processes when the block ends, however that comes about."""
    with work_folder("penstock-chromium", abandoned=_ABANDONED) as folder:
        limits, account = LIMITS, None
        if os.geteuid() == 0:
            # an account of its own, so the limit is for this browser alone
            limits, account = replace(LIMITS, processes=PROCESSES), random_account()
            os.chown(folder, account, account)
        arguments = [*_ALWAYS, f"--user-data-dir={folder}", *([] if await _sandbox_works() else ["--no-sandbox"])]
        # Chromium reads commands from 3 and answers on 4: no port that a page or a neighbour could talk to. It is not
        # asked to close in the end: it has nothing to save, and a page may make it slow to listen. Its process that
        # reports crashes leaves the group.
        with (folder / "stderr").open("wb") as stderr:
            async with (
                started(
                    [executable, *arguments, *more], limits, env=_environment(folder), cwd=folder, account=account,
                    wired=True, nice=10, stderr=stderr, max_line=MAX_MESSAGE, known_by=str(folder),
                ) as process,
                DevTools(process.reader, process.writer) as tools,
            ):  # fmt: skip
                await _greet(tools, folder)
                yield tools


async def _greet(tools: DevTools, folder: Path) -> None:
    try:
        await tools.call("Browser.getVersion")
    except Gone:
        said = (folder / "stderr").read_text(errors="replace").strip().splitlines()
        raise NoBrowser(f"Chromium does not start: {said[-1][:300] if said else 'it says nothing'}") from None


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours, in which there are keys and passwords."""
    kept = ("PATH", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "TZ")
    ours = {name: os.environ[name] for name in kept if name in os.environ}
    return {"PATH": os.defpath, **ours, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}


async def _sandbox_works() -> bool:
    """Chromium's own sandbox needs user namespaces; some containers and distributions do not allow them."""
    found = shutil.which("unshare", path=f"{os.environ.get('PATH', os.defpath)}:/usr/bin")
    if found is None:
        return False
    if found not in _tried:
        account = random_account() if os.geteuid() == 0 else None
        command = [found, "--user", "--map-root-user", "--pid", "--net", "--fork", "true"]
        async with started(command, Limits(wall=20), env={"PATH": os.defpath}, account=account) as process:
            with suppress(TimeoutError):
                _tried[found] = await asyncio.wait_for(process.wait(), 20) == 0
        if not _tried.setdefault(found, False):
            log.warning("user namespaces do not work here: Chromium runs without its sandbox")
    return _tried[found]
