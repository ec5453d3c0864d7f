"""Which IP addresses are anybody's, and which are ours: a request that a stranger directs must not reach ours."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from penstock.errors import InvalidInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Written out, and not asked of the ipaddress module: its answers differ between patch releases of Python.
_INNER_4 = {
    "0.0.0.0/8": "an unspecified",
    "10.0.0.0/8": "a private",
    "100.64.0.0/10": "a carrier's private",
    "127.0.0.0/8": "a loopback",
    "168.63.129.16/32": "a reserved",  # Azure's own services, on each of its machines
    "169.254.0.0/16": "a link-local",  # with every cloud's metadata service
    "172.16.0.0/12": "a private",
    "192.0.0.0/24": "a reserved",
    "192.0.2.0/24": "a reserved",
    "192.88.99.0/24": "a reserved",
    "192.168.0.0/16": "a private",
    "198.18.0.0/15": "a reserved",
    "198.51.100.0/24": "a reserved",
    "203.0.113.0/24": "a reserved",
    "224.0.0.0/4": "a multicast",
    "240.0.0.0/4": "a reserved",
}
_INNER_6 = {
    "::/128": "an unspecified",
    "::1/128": "a loopback",
    "fc00::/7": "a private",
    "fe80::/10": "a link-local",
    "fec0::/10": "a private",
    "ff00::/8": "a multicast",
    "2001::/23": "a reserved",  # with Teredo, which carries IPv4 addresses in disguise
    "2001:db8::/32": "a reserved",
    "2002::/16": "a reserved",  # 6to4: the same
    "3fff::/20": "a reserved",
}
_KINDS: list[tuple[Network, str]] = [(ip_network(text), kind) for text, kind in (_INNER_4 | _INNER_6).items()]
_PUBLIC_6 = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")


def networks(given: Iterable[str | Network]) -> tuple[Network, ...]:
    """Networks from text such as 10.0.0.0/8 or fd00::1."""
    read = []
    for each in given:
        try:
            read.append(ip_network(each))
        except ValueError as error:
            raise InvalidInput("allow", f"takes networks such as 10.0.0.0/8 or 127.0.0.1: {error}") from None
    return tuple(read)


def inner_kind(address: Address, allow: Iterable[Network] = ()) -> str | None:
    """What keeps a stranger's request from this address ("a private", …); None if nothing does."""
    allow = tuple(allow)
    if any(address.version == network.version and address in network for network in allow):
        return None
    if isinstance(address, IPv6Address) and (address in _MAPPED or address in _NAT64):
        # an IPv4 address in other clothes; NAT64 is how a network without IPv4 reaches the rest
        return inner_kind(IPv4Address(int(address) & 0xFFFF_FFFF), allow)
    for network, kind in _KINDS:
        if address.version == network.version and address in network:
            return kind
    return "a reserved" if isinstance(address, IPv6Address) and address not in _PUBLIC_6 else None


def literal(host: str) -> Address | None:
    """The address that a host is, if it is one and not a name. Only in its one proper spelling."""
    try:
        return ip_address(host)
    except ValueError:
        return None
