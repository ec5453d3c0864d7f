"""Which addresses a stranger's request may go to."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from penstock import InvalidInput
from penstock.outbound.addresses import inner_kind, networks

INNER = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1", "198.18.0.1", "203.0.113.5", "224.0.0.1", "239.1.1.1",
    "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:0:10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1",
    "100::1", "5f00::1",
]  # fmt: skip
OUTER = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.1", "169.253.0.1", "223.255.255.255",
         "2606:4700::1111", "2a00:1450:4001::8a", "64:ff9b::808:808", "::ffff:8.8.8.8"]  # fmt: skip


@pytest.mark.parametrize("address", INNER)
def test_our_own_networks_are_no_place_for_strangers(address: str) -> None:
    assert inner_kind(ip_address(address)) is not None


@pytest.mark.parametrize("address", OUTER)
def test_what_is_public_is_open(address: str) -> None:
    assert inner_kind(ip_address(address)) is None


@given(ip_addresses(v=4))
def test_an_ipv4_address_is_judged_the_same_in_every_disguise(address: IPv4Address) -> None:
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        disguised = IPv6Address(int(IPv6Address(prefix)) | int(address))
        assert inner_kind(disguised) == inner_kind(address)


@given(ip_addresses(v=4))
def test_nothing_that_python_calls_private_is_open(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert inner_kind(address) is not None


@given(ip_addresses(v=6))
def test_nothing_that_python_calls_private_is_open_in_ipv6(address: IPv6Address) -> None:
    if not address.is_global and address.ipv4_mapped is None:
        assert inner_kind(address) is not None


def test_an_allowed_network_is_open_and_its_neighbours_are_not() -> None:
    allow = networks(["10.1.0.0/16", "fd00::/64"])
    assert inner_kind(ip_address("10.1.2.3"), allow) is None
    assert inner_kind(ip_address("::ffff:10.1.2.3"), allow) is None
    assert inner_kind(ip_address("fd00::1"), allow) is None
    assert inner_kind(ip_address("10.2.0.1"), allow) == "a private"
    assert inner_kind(ip_address("fd00:1::1"), allow) == "a private"


def test_what_is_no_network_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"allow: takes networks such as 10\.0\.0\.0/8"):
        networks(["10.0.0.1/8"])
