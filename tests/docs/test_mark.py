"""One mark, wherever it is shown: a file in each place that brings its own, and a template that has its colours."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DASHBOARD = ROOT / "penstock/server/dashboard"
FILES = [DASHBOARD / "static/mark.svg", ROOT / "recipes/penstock_recipes/page/mark.svg", ROOT / "docs/assets/logo.svg"]


def test_the_mark_is_the_same_everywhere() -> None:
    [mark] = {file.read_text() for file in FILES}
    [line] = re.findall(r' d="([^"]+)"', mark)
    assert line in (DASHBOARD / "templates/ui.html").read_text()
