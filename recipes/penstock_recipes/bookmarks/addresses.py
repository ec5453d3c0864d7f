"""What can be told of an address when it is bookmarked, without asking anybody."""

from collections.abc import Sequence

import httpx

from penstock.outbound import Guard, Refused


async def refuse_unfit(guard: Guard, url: str) -> None:
    """Raises Refused for what no request would ever be sent to. A name may lead anywhere: it is looked up, and refused
    if need be, for each request."""
    try:
        address = httpx.Request("GET", url).url
    except (httpx.InvalidURL, UnicodeError) as error:
        raise Refused(f"cannot be read: {error}") from None
    if address.userinfo:
        raise Refused("must have no user name or password in it")
    without_names = Guard(guard.allow, schemes=guard.schemes, ports=guard.ports, resolve=_anywhere)
    await without_names.addresses(address.scheme, address.raw_host.decode("ascii"), address.port)


async def _anywhere(host: str, port: int) -> Sequence[str]:
    """Somewhere that is nobody's own network."""
    del host, port
    return ["1.1.1.1"]
