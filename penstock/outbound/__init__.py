"""Requests to addresses that users gave: only where they may go, and no larger or longer than they should be."""

from penstock.outbound.addresses import Network, networks
from penstock.outbound.fetching import Fetched, fetch
from penstock.outbound.guard import Guard, Refused, Resolver, TooLarge
from penstock.outbound.transport import GuardedTransport, guarded_client

__all__ = [
    "Fetched",
    "Guard",
    "GuardedTransport",
    "Network",
    "Refused",
    "Resolver",
    "TooLarge",
    "fetch",
    "guarded_client",
    "networks",
]
