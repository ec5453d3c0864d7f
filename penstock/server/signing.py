"""The links that this server signs for files in a folder."""

import logging
import secrets
from functools import cache

from penstock.artifacts.links import Links
from penstock.server.settings import ServerSettings

log = logging.getLogger("penstock.server")


@cache
def links_for(settings: ServerSettings) -> Links:
    """Signed with the signing secret, else with one derived from the service key, else with one that nobody knows and
    that ends with this process."""
    links = Links.derived_from(settings.signing_secret, settings.service_key, settings.public_url)
    if links is None:
        log.warning("links to artifacts end with this process: set PENSTOCK_SIGNING_SECRET")
        links = Links(secrets.token_hex(), settings.public_url)
    return links
