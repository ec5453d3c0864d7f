"""A Chromium process with as few rights as can be had, of which nothing is left in the end."""

import asyncio
import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from penstock.sandbox import Limits, random_account, started
from penstock_recipes.bookmarks.providers.browser.devtools import DevTools, Gone
from penstock_recipes.bookmarks.providers.browser.executable import NoBrowser

log = logging.getLogger(__name__)

# a page's memory: V8's heap, and with it everything that one process may hold
HEAP_MB = 512
LIMITS = Limits(wall=120, memory=2 * 1024**3, file_size=100 * 1024**2)
PROCESSES = 1000
"""With their threads, of which Chromium has about a hundred."""
MAX_MESSAGE = 64 * 1024 * 1024
_PREFIX = "penstock-chromium-"
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
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        limits, account = LIMITS, None
        if os.geteuid() == 0:
            # an account of its own, so the limit is for this browser alone
            limits, account = replace(LIMITS, processes=PROCESSES), random_account()
            os.chown(folder, account, account)
        arguments = [*_ALWAYS, f"--user-data-dir={folder}", *([] if await _sandbox_works() else ["--no-sandbox"])]
        # Chromium reads commands from 3 and answers on 4: no port that a page or a neighbour could talk to
        with (folder / "stderr").open("wb") as stderr:
            async with (
                started(
                    [executable, *arguments, *more], limits, env=_environment(folder), cwd=folder, account=account,
                    wired=True, nice=10, stderr=stderr, max_line=MAX_MESSAGE,
                ) as process,
                DevTools(process.reader, process.writer) as tools,
            ):  # fmt: skip
                await _greet(tools, folder)
                yield tools
    finally:
        # not asked to close: it has nothing to save, and a page may make it slow to listen
        with suppress(TimeoutError):
            await asyncio.wait_for(_end_what_is_left(str(folder).encode()), 10)
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """What workers have left that were killed themselves."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)


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


async def _end_what_is_left(folder: bytes) -> None:
    """What was killed may go on writing for a moment, and the process that reports crashes has left the group."""
    while left := _left(folder):
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        await asyncio.sleep(0.005)


def _left(folder: bytes) -> list[int]:
    """Processes that have a folder in their command line. Those that only wait to be buried (Z) do not count: that is
    for the one who adopted them."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, *_ = (each / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if state not in "ZX" and folder in (each / "cmdline").read_bytes():
                found.append(int(each.name))
    return found
