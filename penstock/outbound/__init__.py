"""Requests to addresses that users gave: only where they may go, and no larger or longer than they should be."""

from penstock.extras import needs

with needs("push", "penstock.outbound"):
    from penstock.outbound.addresses import Network, networks
    from penstock.outbound.fetch import Fetched, fetch
    from penstock.outbound.guard import Guard, NoAddress, Refused, Resolver, TooLarge
    from penstock.outbound.proxy import GuardingProxy
    from penstock.outbound.transport import GuardedTransport, guarded_client

__all__ = [
    "Fetched",
    "Guard",
    "GuardedTransport",
    "GuardingProxy",
    "Network",
    "NoAddress",
    "Refused",
    "Resolver",
    "TooLarge",
    "fetch",
    "guarded_client",
    "networks",
]
