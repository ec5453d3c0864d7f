"""A wire to Postgres that can be cut: a unix socket that passes bytes on, and loses an answer when told to."""

import socket
import threading
from contextlib import suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Wire:
    """Connections made to `url` go to the real server. One that sends `word` while `armed` is cut right after the
    server has begun to answer, so that whoever asked cannot know what became of it."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = conninfo_to_dict(url)
        self._server = f"{parts['host']}/.s.PGSQL.{parts['port']}"
        self.url = make_conninfo(url, host=str(folder))
        self.cuts = 0
        self._word: bytes | None = None
        self._answered = True
        self._path = folder / f".s.PGSQL.{parts['port']}"
        self._open: list[socket.socket] = []
        self._flows = threading.Event()
        self._flows.set()
        self.come_back()

    def come_back(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def go_down(self) -> None:
        """As a server does that is being restarted: ends every connection, and takes no new one."""
        self.close()
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut_at(self, word: str, *, answered: bool = True) -> None:
        """Cuts the next connection that sends this word: after the server's answer, or before it."""
        self._word, self._answered = word.encode(), answered

    def swallow(self) -> None:
        """As a server that is frozen, or behind a network that drops packets: takes connections and bytes, and passes
        none on until it has come to itself."""
        self._flows.clear()

    def come_to_itself(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self._flows.set()
        # a thread blocked in accept() is not woken by close() alone
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._open.append(client)
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                doomed = threading.Event()
                threading.Thread(target=self._send, args=(client, server, doomed), daemon=True).start()
                threading.Thread(target=self._answer, args=(client, server, doomed), daemon=True).start()

    def _send(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while asked := client.recv(65536):
                self._flows.wait()
                if self._word is not None and self._word in asked:
                    self._word = None
                    self.cuts += 1
                    doomed.set()
                server.sendall(asked)
                if doomed.is_set() and not self._answered:
                    client.shutdown(socket.SHUT_RDWR)
                    return
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while answer := server.recv(65536):
                self._flows.wait()
                if doomed.is_set():
                    break
                client.sendall(answer)
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
