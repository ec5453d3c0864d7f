"""A Chromium process with as few rights as can be had, of which nothing is left in the end."""

import asyncio
import logging
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from penstock.recipes.bookmarks.browser.finding import NoBrowser
from penstock.recipes.bookmarks.browser.pipe import DevTools, Gone

log = logging.getLogger(__name__)

# a page's memory: V8's heap, and with it everything that one process may hold
HEAP_MB = 512
DATA_KB = 2 * 1024 * 1024
FILE_BLOCKS = 200_000  # of 512 bytes
# The range that systemd hands out for a time too. No account has these numbers, so nothing belongs to them.
STRANGERS = range(61184, 65520)
MAX_MESSAGE = 64 * 1024 * 1024
_PREFIX = "penstock-chromium-"
_ABANDONED = 3600
"""Seconds; far longer than anybody looks at a page."""

# Chromium reads commands from 3 and answers on 4: no port that a page or a neighbour could talk to. When memory is
# short, it is the first to die.
_START = f"""
ulimit -c 0; ulimit -d {DATA_KB}; ulimit -f {FILE_BLOCKS}
echo 1000 > /proc/self/oom_score_adj
exec nice -n 10 "$@" 3<&0 4>&1 </dev/null >/dev/null
"""

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
        rights, sandbox = _rights(), _sandbox_works()
        if os.geteuid() == 0:
            uid = random.choice(STRANGERS)  # noqa: S311  (so that two pages do not meet, not a secret)
            os.chown(folder, uid, uid)
            rights = (*rights, f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
        arguments = [*_ALWAYS, f"--user-data-dir={folder}", *([] if sandbox else ["--no-sandbox"]), *more]
        with (folder / "stderr").open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _START, "chromium", *rights, executable, *arguments,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, limit=MAX_MESSAGE,
                cwd=folder, env=_environment(folder), start_new_session=True,
            )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with DevTools(process.stdout, process.stdin) as tools:
                await _greet(tools, folder)
                yield tools
        finally:
            # not asked to close: it has nothing to save, and a page may make it slow to listen
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(_end_what_is_left(process.pid, folder), 10)
    finally:
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


@cache
def _rights() -> tuple[str, ...]:
    """The command that gives rights away for good; part of util-linux, so there is none where there is no Linux."""
    found = shutil.which("setpriv", path=f"{os.environ.get('PATH', os.defpath)}:/usr/bin")
    if found is None:
        if os.geteuid() == 0:
            raise NoBrowser("as root, Chromium is started by setpriv, which is missing: install util-linux")
        return ()
    return (found, "--no-new-privs", "--pdeathsig=KILL")


@cache
def _sandbox_works() -> bool:
    """Chromium's own sandbox needs user namespaces; some containers and distributions do not allow them."""
    strangers = ["--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--net", "--fork", "true"]
    try:
        tried = subprocess.run([*_rights(), *strangers, *unshare], capture_output=True, timeout=20)  # noqa: S603
        works = tried.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        works = False
    if not works:
        log.warning("user namespaces do not work here: Chromium runs without its sandbox")
    return works


async def _end_what_is_left(group: int, folder: Path) -> None:
    """What was killed may go on writing for a moment, and the process that reports crashes has left the group."""
    while left := _left(group, str(folder).encode()):
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        await asyncio.sleep(0.005)


def _left(group: int, folder: bytes) -> list[int]:
    """Processes of a group, or that have a folder in their command line. Those that only wait to be buried (Z) do not
    count: that is for the one who adopted them."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, its_group, *_ = (each / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if state not in "ZX" and (int(its_group) == group or folder in (each / "cmdline").read_bytes()):
                found.append(int(each.name))
    return found
