"""Templates: everything escaped, nothing undefined. What differs from one session to the next is put in afterwards, so
that one rendering serves all who look at the same page."""

from collections.abc import Mapping
from secrets import token_hex

import jinja2

from penstock.server.dashboard import words
from penstock.server.dashboard.address import url
from penstock.server.dashboard.assets import asset

FORM_TOKEN = token_hex(16)
"""Stands in a rendered page for the token of whoever gets it. Random, so that nobody can have it in their data."""
LIVE = "live_"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("penstock.server.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"url": url, "asset": asset, "form_token": FORM_TOKEN}
    environment.filters |= words.FILTERS
    environment.globals["ui"] = environment.get_template("ui.html").module
    return environment


_ENVIRONMENT = _environment()


def render(template: str, context: Mapping[str, object]) -> str:
    return _ENVIRONMENT.get_template(template).render(context)


def render_regions(template: str, context: Mapping[str, object]) -> dict[str, str]:
    """The blocks that are kept up to date while a page is open, by name."""
    found = _ENVIRONMENT.get_template(template)
    shared = found.new_context(dict(context))
    return {
        name.removeprefix(LIVE): "".join(block(shared)) for name, block in found.blocks.items() if name.startswith(LIVE)
    }
