"""Where requests may go, however the place is written."""

import asyncio
import socket
import threading
from collections.abc import Sequence

import pytest

from penstock.outbound import Guard, NoAddress, Refused, Resolver


def answering(*addresses: str) -> Resolver:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
     "127.0.0.1.", "0x7f.0.0.1", "1.2.3.0x4", "0", "[::1]", "", ".", "..", "a..b", "-a.example", "a b", "a%00b",
     "a.example%2f", "fe80::1%eth0", "x" * 254, "localhost\r\nX: y"],
)  # fmt: skip
async def test_no_spelling_of_an_inner_address_or_of_nonsense_gets_through(host: str) -> None:
    guard = Guard(resolve=answering("1.1.1.1"))
    with pytest.raises(Refused) as refused:
        await guard.addresses("http", host, None)
    assert refused.value.lasting


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LOCALHOST"])
async def test_what_a_name_leads_to_counts_not_the_name(host: str) -> None:
    with pytest.raises(Refused, match="localhost leads to a loopback address"):
        await Guard().addresses("http", host, None)


async def test_one_inner_answer_spoils_the_others() -> None:
    with pytest.raises(Refused, match="a private address") as refused:
        await Guard(resolve=answering("1.1.1.1", "10.0.0.1")).addresses("https", "mixed.example", None)
    assert not refused.value.lasting
    assert "10.0.0.1" not in str(refused.value), "the layout of our networks is nobody's business"


async def test_public_answers_are_the_addresses_to_connect_to() -> None:
    guard = Guard(resolve=answering("1.1.1.1", "2606:4700::1111", "1.1.1.1"))
    assert await guard.addresses("https", "example.com", None) == ["1.1.1.1", "2606:4700::1111"]
    assert await guard.addresses("https", "1.1.1.1", None) == ["1.1.1.1"]


@pytest.mark.parametrize("answer", ["", "not an address", "fe80::1%1"])
async def test_a_resolver_that_answers_nonsense_is_not_believed(answer: str) -> None:
    with pytest.raises(Refused):
        await Guard(resolve=answering(answer)).addresses("https", "example.com", None)


async def test_a_name_without_addresses_says_so() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise OSError("not known")

    for guard in (Guard(resolve=answering()), Guard(resolve=resolve)):
        with pytest.raises(Refused, match=r"gone\.example has no address") as refused:
            await guard.addresses("https", "gone.example", None)
        assert not refused.value.lasting


async def test_schemes_and_ports_may_be_narrowed() -> None:
    guard = Guard(schemes=["https"], ports=[443, 8443], resolve=answering("1.1.1.1"))
    assert await guard.addresses("https", "example.com", 8443) == ["1.1.1.1"]
    with pytest.raises(Refused, match="http: only https URLs"):
        await guard.addresses("http", "example.com", 443)
    with pytest.raises(Refused, match="port 22: only 443, 8443"):
        await guard.addresses("https", "example.com", 22)


async def test_a_name_server_that_hangs_keeps_only_those_who_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may name a hundred hosts; whatever else this process has threads for goes on."""
    answered = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        answered.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    asking = [asyncio.create_task(Guard().addresses("http", f"{each}.invalid", None)) for each in range(100)]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        answered.set()
        told = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(each) for each in told} == {NoAddress}
