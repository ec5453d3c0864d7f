"""`make demo` on a terminal: all of it, an address to look at, and nothing left after Ctrl-C."""

import re
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.cli.test_ctrl_c import Terminal

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.time_limit(600)
def test_the_demonstration_goes_on_until_ctrl_c() -> None:
    demo = Terminal(ROOT, None, command=[sys.executable, "examples/demo.py"])
    try:
        demo.until_it_shows("goes on until Ctrl-C", within=500)
        found = re.search(r"play: +\S*?(http://127\.0\.0\.1:\d+)/recipes#sign-in=", demo.shows)
        assert found, demo.shows
        with urllib.request.urlopen(f"{found[1]}/recipes") as page:
            assert b"Jobs that people can see" in page.read()
        everybody = psutil.Process(demo.process.pid).children(recursive=True)
        assert everybody
        demo.press_ctrl_c()
        assert demo.wait(60) == 0
        assert psutil.wait_procs(everybody, timeout=30)[1] == []
        assert "Traceback" not in demo.shows
    finally:
        demo.end()
