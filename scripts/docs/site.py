"""Building and serving. Each version has a folder of its own below `site/`; the selector reads a list of them."""

import http.server
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

from scripts.docs.nav import as_toml
from scripts.docs.pages import ROOT, lay_out

CONFIG = Path(__file__).parent / "zensical.toml"
WORKSHOP = ROOT / ".cache" / "docs"
SITE = ROOT / "site"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def build(site: Path = SITE, workshop: Path = WORKSHOP) -> Path:
    """Builds this version below `site`, beside those that are there; a warning, such as a broken link, ends it."""
    prepare(workshop)
    done = subprocess.run([*_zensical(), "build", "--strict", "--clean"], cwd=workshop, capture_output=True, text=True)
    if done.returncode:
        said, _, _ = (done.stdout + done.stderr).partition("Traceback")
        raise SystemExit(COLOUR.sub("", said) + "The documentation has warnings, which count as errors: see above.")
    version = this_version()
    place = site / version
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(workshop / "site", place)
    newest = list_versions(site)
    (site / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>Penstock</title>'
        f'<meta http-equiv="refresh" content="0; url={newest}/">'
        f'<a href="{newest}/">Penstock {newest}</a>\n'
    )
    return place


def serve(port: int, workshop: Path = WORKSHOP) -> None:
    """Serves the pages as they are written; a change shows within a second."""
    prepare(workshop)
    server = subprocess.Popen([*_zensical(), "serve", "--dev-addr", f"127.0.0.1:{port}"], cwd=workshop)
    try:
        while server.poll() is None:
            time.sleep(0.5)
            lay_out(workshop / "pages")
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


def show(port: int, site: Path = SITE) -> None:
    """Serves what was built, with every version."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/")
        server.serve_forever()


def prepare(workshop: Path) -> None:
    workshop.mkdir(parents=True, exist_ok=True)
    pages = workshop / "pages"
    lay_out(pages)
    (workshop / CONFIG.name).write_text(CONFIG.read_text().replace("nav = []", f"nav = {as_toml(pages)}"))


def this_version() -> str:
    """The major and minor one: what a patch changes needs no page of its own."""
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return ".".join(number.split(".")[:2])


def list_versions(site: Path) -> str:
    numbers = sorted((each.name for each in site.iterdir() if re.fullmatch(r"\d+\.\d+", each.name)), key=_by_number)
    newest = numbers[-1]
    listed = [
        {"version": number, "title": number, "aliases": ["latest"] if number == newest else []}
        for number in reversed(numbers)
    ]
    (site / "versions.json").write_text(json.dumps(listed))
    return newest


def _by_number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _zensical() -> list[str]:
    return [sys.executable, "-m", "zensical"]
