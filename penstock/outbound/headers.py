"""The headers of HTTP messages, read strictly: what two readers could understand differently is taken by neither."""

import asyncio
import re
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_TARGET = re.compile(r"[\x21-\x7e]+\Z")
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9][0-9])( [^\x00-\x08\x0a-\x1f\x7f]*)?\Z")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*\Z")
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\]\\]+))(?::([0-9]{1,5}))?\Z")
_ABSOLUTE = re.compile(r"http://([^/?#]*)(/[^#]*|\?[^#]*)?\Z", re.IGNORECASE)
# of one connection and not of the message; or, as Upgrade and Expect, a talk that is not passed on
_OF_A_CONNECTION = frozenset({
    "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "trailer", "upgrade",
})  # fmt: skip


class BadHead(Exception):
    """Not HTTP/1 as it should be written."""


@dataclass(frozen=True, slots=True)
class Head:
    first: str
    fields: tuple[tuple[str, str], ...]
    size: int

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.fields if each.lower() == name]

    @property
    def status(self) -> int:
        matched = _STATUS.match(self.first)
        if matched is None:
            raise BadHead("no status line")
        return int(matched[1])

    @property
    def body_length(self) -> int:
        """Bytes of a request's body. Only a told length will do: a second length could hide a second request."""
        told = self.values("content-length")
        if self.values("transfer-encoding") or len(told) > 1 or (told and not re.fullmatch(r"[0-9]{1,15}", told[0])):
            raise BadHead("no plain length of the body")
        return int(told[0]) if told else 0

    def passed_on(self, first: str, **more: str) -> bytes:
        """The head for the next one in line, who is told that the connection ends with this message."""
        named = {each.strip().lower() for value in self.values("connection") for each in value.split(",")}
        dropped = _OF_A_CONNECTION | (named - {"content-length", "transfer-encoding", "host"}) | more.keys()
        kept = [(name, value) for name, value in self.fields if name.lower() not in dropped]
        lines = [first, *(f"{name}: {value}" for name, value in [*more.items(), *kept, ("Connection", "close")])]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head; None if the other side ended instead."""
    lines: list[str] = []
    size = 0
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            raise BadHead("a line is too long") from None
        if not line and not lines:
            return None
        size += len(line)
        if not line.endswith(b"\n") or size > MAX_HEAD:
            raise BadHead("the head does not end")
        text = line.decode("latin-1").removesuffix("\n").removesuffix("\r")
        if text:
            lines.append(text)
        elif lines:
            return Head(lines[0], tuple(_field(each) for each in lines[1:]), size)


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    value = value.strip(" \t")
    if not colon or not _TOKEN.match(name) or not _VALUE.match(value):
        raise BadHead("a field is not written as it should be")
    return name, value


@dataclass(frozen=True, slots=True)
class Target:
    """What a proxy is asked for. `path` is None where only a connection is wanted."""

    host: str
    port: int
    path: str | None
    method: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"


def read_target(head: Head) -> Target:
    """From `CONNECT host:port` or `GET http://host:port/path`."""
    parts = head.first.split(" ")
    if len(parts) != 3 or parts[2] not in ("HTTP/1.1", "HTTP/1.0") or not _TOKEN.match(parts[0]):
        raise BadHead("no request line")
    method, target, _ = parts
    if not _TARGET.match(target):
        raise BadHead("no URL")
    if method == "CONNECT":
        host, port = _authority(target)
        if port is None:
            raise BadHead("CONNECT without a port")
        return Target(host, port, None, method)
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        raise BadHead("a proxy is asked for whole http: URLs")
    host, port = _authority(absolute[1])
    path = absolute[2] or "/"
    return Target(host, 80 if port is None else port, path if path[0] == "/" else f"/{path}", method)


def _authority(text: str) -> tuple[str, int | None]:
    matched = _AUTHORITY.match(text)
    if matched is None:
        raise BadHead("no host, or more than a host")
    return (matched[1] or matched[2]).lower(), None if matched[3] is None else int(matched[3])
