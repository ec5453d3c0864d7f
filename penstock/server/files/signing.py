"""The links that this server signs for files in a folder."""

import logging
import secrets
from functools import cache

from penstock.errors import InvalidInput
from penstock.server.settings import ServerSettings
from penstock.storage.links import Links

log = logging.getLogger("penstock.server")


_SHORTEST = 16


def refuse_short_secret(settings: ServerSettings) -> None:
    if settings.signing_secret is not None and len(settings.signing_secret) < _SHORTEST:
        told = f"must have at least {_SHORTEST} characters, or links could be forged; make one: openssl rand -hex 32"
        raise InvalidInput("signing_secret", told)


@cache
def links_for(settings: ServerSettings) -> Links:
    """Signed with the signing secret, else with one derived from the service key, else with one that nobody knows and
    that ends with this process."""
    links = Links.derived_from(settings.signing_secret, settings.service_key, settings.public_url)
    if links is None:
        log.warning("links to artifacts end with this process: set PENSTOCK_SIGNING_SECRET")
        links = Links(secrets.token_hex(), settings.public_url)
    return links
