"""What a worker's process loads of a recipe."""

import json
import subprocess
import sys

LOOK = """
import json, sys
from penstock_recipes import bookmarks, calls, exports, readings
from penstock_recipes.exports import jobs

for recipe in (bookmarks, calls, exports, readings):
    recipe.make_app("postgresql://nowhere")
print(json.dumps([*sys.modules]))
"""


def test_a_worker_loads_nothing_of_a_server() -> None:
    """Neither it nor the processes of its handlers: that takes 50 MB of each, and most of a second."""
    ended = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    loaded = set(json.loads(ended.stdout))
    assert "penstock.worker" in loaded
    assert not loaded & {"fastapi", "starlette", "jinja2", "networkx", "penstock.server"}
