"""What was asked of a server, what a running one is, and whether the two agree."""

import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, write_private

OURS = frozenset({"data_directory", "listen_addresses", "port", "unix_socket_directories", "unix_socket_permissions"})
READY = "ready"  # what a keeper tells its starter when all is well
SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@dataclass(frozen=True)
class Request:
    """What a user asks of a server: TCP or not, on which port (0: any free one), extra settings."""

    tcp: bool = False
    port: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.port and not self.tcp:
            raise EmbeddedError(f"port={self.port} is only used over TCP; ask for tcp=True too")
        if not 0 <= self.port <= 65535:
            raise EmbeddedError(f"port={self.port} is no TCP port; choose 1 to 65535, or 0 for any free one")
        for name in self.settings:
            if name.lower() in OURS:
                raise EmbeddedError(f"the setting {name!r} is chosen by penstock; use the tcp and port arguments")
            if not SETTING_NAME.fullmatch(name):
                raise EmbeddedError(f"{name!r} is no name of a Postgres setting")

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Request":
        return cls(**json.loads(text))


@dataclass(frozen=True)
class RunningServer:
    keeper: int
    postmaster: int
    socket_folder: str
    port: int
    tcp: bool
    settings: Mapping[str, str]

    def write(self, layout: Layout) -> None:
        write_private(layout.running, json.dumps(asdict(self)))

    @classmethod
    def read(cls, layout: Layout) -> "RunningServer | None":
        try:
            return cls(**json.loads(layout.running.read_text()))
        except FileNotFoundError:
            return None

    def url(self, password: str) -> str:
        host = quote(os.fsencode(self.socket_folder), safe="/")
        return f"postgresql://penstock:{quote(password)}@/penstock?host={host}&port={self.port}"

    def tcp_url(self, password: str) -> str | None:
        if not self.tcp:
            return None
        return f"postgresql://penstock:{quote(password)}@127.0.0.1:{self.port}/penstock"

    def answers(self) -> bool:
        """Whether somebody listens at the socket: false from the moment the postmaster is gone."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(Path(self.socket_folder) / f".s.PGSQL.{self.port}"))
            except OSError:
                return False
            return True

    def refuse_unless_it_fits(self, request: Request, layout: Layout) -> None:
        """A running server cannot change: say what differs rather than hand out something else than asked."""
        wrong = [
            f"{name}={value!r} (it has {self.settings.get(name, 'the default')!r})"
            for name, value in request.settings.items()
            if self.settings.get(name) != value
        ]
        if request.tcp and not self.tcp:
            wrong.append("TCP (it has only its socket)")
        elif request.port not in (0, self.port):
            wrong.append(f"port {request.port} (it has {self.port})")
        if wrong:
            raise EmbeddedError(
                f"the server in {layout.folder} is already running without {', '.join(wrong)}; "
                f"stop it first (penstock.embedded.stop({str(layout.folder)!r})), or ask for what it has"
            )
